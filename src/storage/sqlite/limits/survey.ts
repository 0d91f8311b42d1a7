import { header, type TableLayout, tables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { slotOf } from './table.ts';

export interface LimitSurvey {
  /** Extent numbers by table and index in the table. */
  readonly extents: ReadonlyMap<TableLayout, ReadonlyMap<number, number>>;
  /** Number of strikes that fit into a key's record; undefined if there are no key records. */
  readonly strikes: number | undefined;
  readonly isDamaged: boolean;
}

const layouts: readonly TableLayout[] = Object.values(tables);

export function surveyOf(file: LimitFile): LimitSurvey {
  const extents = new Map(layouts.map((layout): [TableLayout, Map<number, number>] => [layout, new Map()]));
  const count = file.extentsBySize;
  let isDamaged = false;
  let strikes: number | undefined;
  for (let number = 1; number < count; number++) {
    file.reach(number);
    const extent = file.extent(number);
    // A power failure prevented the first sync of the extent.
    if (extent === 'free') continue;
    const layout = layouts.find((one) => one.number === extent?.table);
    const places = layout && extents.get(layout);
    const isOdd = layout === tables.keys && strikes !== undefined && strikes !== extent?.strikes;
    if (extent === undefined || layout === undefined || places === undefined || isOdd) isDamaged = true;
    else if (places.size === layout.slots || places.has(extent.index)) isDamaged = true;
    else {
      places.set(extent.index, number);
      if (layout === tables.keys) strikes = extent.strikes;
    }
  }
  return { extents, strikes, isDamaged };
}

/** Rebuilds the directory in the header. No other process may change the file at the same time. */
export function writeDirectory(file: LimitFile, { extents }: LimitSurvey): void {
  const { i32, extentsBySize } = file;
  for (const [layout, places] of extents) {
    const { directory, slots } = layout;
    i32.fill(0, directory, directory + slots);
    for (const [index, number] of places) i32[directory + (slotOf(file, layout, index) as number)] = number;
  }
  i32[header.extents] = extentsBySize;
}
