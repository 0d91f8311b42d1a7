/** How the limit file is made: empty, from one that does not serve any more, or from an older version's. */
import { fsyncSync, renameSync, rmSync } from 'node:fs';
import type { Clock } from '../../../domain/clock.ts';
import type { BanRules, KeyPenalty, Usage } from '../../../domain/limit.ts';
import { noPenalty } from '../../../domain/limit.ts';
import { syncFolderOf } from '../durable.ts';
import { makeFile } from '../files.ts';
import { AccountCounts, usedUp } from './account-counts.ts';
import type { FormerLimits } from './former-limits.ts';
import { KeyPenalties, longestBan } from './key-penalties.ts';
import { header } from './layout.ts';
import { LimitFile, type NewFile } from './limit-file.ts';
import { RecordLocks } from './record-locks.ts';
import type { LimitSurvey } from './survey.ts';

/** Where records are put while a file is made, which nobody else has open. */
class Making {
  readonly #accounts: AccountCounts;
  readonly #keys: KeyPenalties;
  readonly #locks: RecordLocks;
  /** Records whose id is beyond what the file can hold. */
  beyond = 0;

  constructor(file: LimitFile) {
    this.#accounts = new AccountCounts(file);
    this.#keys = new KeyPenalties(file);
    this.#locks = new RecordLocks(file, 0);
  }

  putUsage(id: number, usage: Usage): void {
    const { table } = this.#accounts;
    if (id >= table.reach) this.beyond++;
    else this.#accounts.write(table.make(id, this.#locks), id, usage);
  }

  putPenalty(id: number, penalty: KeyPenalty): void {
    const { table } = this.#keys;
    if (id >= table.reach) this.beyond++;
    else this.#keys.write(table.make(id, this.#locks), id, noPenalty, penalty);
  }
}

/** Makes the file anew: whole and durable before it has its name. Throws as the system does, having changed nothing. */
export function makeLimits(path: string, how: NewFile, fill: (file: LimitFile) => void): LimitFile {
  const copy = `${path}.new`;
  rmSync(copy, { force: true });
  makeFile(copy);
  try {
    using file = LimitFile.create(copy, how);
    fill(file);
    fsyncSync(file.fd);
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
  renameSync(copy, path);
  syncFolderOf(path);
  return new LimitFile(path);
}

/** Puts what an older version's file has; returns for how many records there is no room. */
export function fillFromFormer(file: LimitFile, former: FormerLimits): number {
  const making = new Making(file);
  for (const [id, usage] of former.usage) making.putUsage(id, usage);
  for (const [id, penalty] of former.penalties) making.putPenalty(id, penalty);
  return making.beyond;
}

/** What is known of a file that is made anew from its records. */
export interface Remains {
  readonly old: LimitFile;
  readonly survey: LimitSurvey;
  /** Whether its header can be believed, and so where its instants lie. */
  readonly isDated: boolean;
  readonly clock: Clock;
  readonly rules: BanRules;
}

/** Puts every record that can be read, and for each that cannot what is strictest. */
export function fillFromRemains(file: LimitFile, { old, survey, isDated, clock, rules }: Remains): void {
  const making = new Making(file);
  if (isDated) file.f64[header.aheadMs] = old.f64[header.aheadMs] as number;
  const nowMs = clock.steady();
  const second = Math.floor(nowMs / 1_000);
  const accounts = new AccountCounts(old);
  accounts.table.each((record, id) => {
    if (!accounts.isWritten(record)) return;
    const usage = accounts.read(record, id) ?? usedUp(second);
    making.putUsage(id, isDated ? usage : reopened(usage, second));
  });
  const keys = new KeyPenalties(old, survey.strikes);
  keys.table.each((record, id) => {
    if (keys.sequence(record) === 0) return;
    const penalty = keys.read(record, id) ?? longestBan(rules, nowMs);
    if (penalty !== noPenalty) making.putPenalty(id, penalty);
  });
}

/** The counts, in windows that open now: when they did is not known. */
function reopened({ minute, day }: Usage, openedAt: number): Usage {
  return { minute: { openedAt, count: minute.count }, day: { openedAt, count: day.count } };
}
