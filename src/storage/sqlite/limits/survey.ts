import { header, type TableLayout, tables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

export interface LimitSurvey {
  readonly extents: ReadonlyMap<TableLayout, readonly number[]>;
  /** Number of strikes that fit into a key's record; undefined if there are no key records. */
  readonly strikes: number | undefined;
  readonly isDamaged: boolean;
}

const layouts: readonly TableLayout[] = Object.values(tables);

export function surveyOf(file: LimitFile): LimitSurvey {
  const extents = new Map(layouts.map((layout): [TableLayout, number[]] => [layout, []]));
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
    else if (extent.index >= layout.reach || places[extent.index] !== undefined) isDamaged = true;
    else {
      places[extent.index] = number;
      if (layout === tables.keys) strikes = extent.strikes;
    }
  }
  return { extents, strikes, isDamaged };
}

/** Rebuilds the directory in the header. No other process may change the file at the same time. */
export function writeDirectory({ i32, extentsBySize }: LimitFile, { extents }: LimitSurvey): void {
  for (const [{ directory, reach }, places] of extents) {
    for (let index = 0; index < reach; index++) i32[directory + index] = places[index] ?? 0;
  }
  i32[header.extents] = extentsBySize;
}
