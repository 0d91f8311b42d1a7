/** Creates an empty limit file, or rebuilds a file that is damaged, full, or too small for the strikes. */
import { fsyncSync, renameSync, rmSync } from 'node:fs';
import type { Clock } from '../../domain/clock.ts';
import { syncParentFolder } from '../../store-files/disk.ts';
import { createFileIfMissing, type StoreFiles } from '../../store-files/files.ts';
import { type BanRules, noPenalty, type Usage } from '../limit.ts';
import { AccountUsageTable, exhaustedUsage } from './account-counts.ts';
import { KeyPenaltyTable, longestBan } from './key-penalties.ts';
import { header, limitTables, type TableLayout } from './layout.ts';
import { LimitFile, type NewFileOptions } from './limit-file.ts';
import { RecordLocks } from './record-locks.ts';
import { findSlot } from './table.ts';

/**
 * Writes a complete and durable file, and renames it to replace the old file. If this throws a system error, the old
 * file is unchanged.
 */
export function createLimitFile(
  { limits: path, data }: Pick<StoreFiles, 'limits' | 'data'>,
  how: NewFileOptions,
  fill?: (file: LimitFile) => void,
): LimitFile {
  const copy = `${path}.new`;
  rmSync(copy, { force: true });
  createFileIfMissing(copy, data);
  try {
    using file = LimitFile.create(copy, how);
    fill?.(file);
    fsyncSync(file.fd);
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
  renameSync(copy, path);
  syncParentFolder(path);
  return new LimitFile(path);
}

interface PreviousState {
  readonly old: LimitFile;
  readonly survey: LimitSurvey;
  readonly isDated: boolean;
  readonly clock: Clock;
  readonly rules: BanRules;
}

/**
 * Replaces damaged records with the strictest state. Drops records that no longer fit, because records with more
 * strikes are larger.
 */
export function fillFromPrevious(
  file: LimitFile,
  { old, survey, isDated, clock, rules }: PreviousState,
): void {
  const locks = new RecordLocks(file, 0);
  if (isDated) file.f64[header.aheadMs] = old.f64[header.aheadMs] as number;
  const nowMs = clock.steady();
  const second = Math.floor(nowMs / 1_000);
  const [oldAccounts, accounts] = [new AccountUsageTable(old), new AccountUsageTable(file)];
  oldAccounts.table.each((record, id) => {
    if (!oldAccounts.isWritten(record)) return;
    const usage = oldAccounts.read(record, id) ?? exhaustedUsage(second);
    accounts.write(accounts.table.make(id, locks), id, isDated ? usage : reopenWindows(usage, second));
  });
  const [oldKeys, keys] = [new KeyPenaltyTable(old, survey.strikes), new KeyPenaltyTable(file)];
  oldKeys.table.each((record, id) => {
    if (oldKeys.sequence(record) === 0) return;
    const penalty = oldKeys.read(record, id) ?? longestBan(rules, nowMs);
    if (penalty === noPenalty || !keys.table.hasRoom(id)) return;
    keys.write(keys.table.make(id, locks), id, noPenalty, penalty);
  });
}

/** Moves the counts to windows that open now. Used if the original opening times are unknown. */
function reopenWindows({ minute, day }: Usage, openedAt: number): Usage {
  return { minute: { openedAt, count: minute.count }, day: { openedAt, count: day.count } };
}

interface LimitSurvey {
  /** Extent numbers by table and index in the table. */
  readonly extents: ReadonlyMap<TableLayout, ReadonlyMap<number, number>>;
  /** Number of strikes that fit into a key's record; undefined if there are no key records. */
  readonly strikes: number | undefined;
  readonly isDamaged: boolean;
}

const layouts: readonly TableLayout[] = Object.values(limitTables);

export function surveyFile(file: LimitFile): LimitSurvey {
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
    const isOdd = layout === limitTables.keys && strikes !== undefined && strikes !== extent?.strikes;
    if (extent === undefined || layout === undefined || places === undefined || isOdd) isDamaged = true;
    else if (places.size === layout.slots || places.has(extent.index)) isDamaged = true;
    else {
      places.set(extent.index, number);
      if (layout === limitTables.keys) strikes = extent.strikes;
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
    for (const [index, number] of places) i32[directory + (findSlot(file, layout, index) as number)] = number;
  }
  i32[header.extents] = extentsBySize;
}
