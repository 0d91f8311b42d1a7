/** Reads and changes the limit file as another process would. */
import { existsSync } from 'node:fs';
import { AccountUsageTable } from '../../src/limits/file/account-counts.ts';
import { createLimitFile } from '../../src/limits/file/create-limit-file.ts';
import { KeyPenaltyTable } from '../../src/limits/file/key-penalties.ts';
import { header } from '../../src/limits/file/layout.ts';
import { LimitFile } from '../../src/limits/file/limit-file.ts';
import { RecordLocks } from '../../src/limits/file/record-locks.ts';
import { noPenalty } from '../../src/limits/limit.ts';

/** Number of requests counted in an account's last minute and day windows, according to the file. */
export function countsIn(path: string, accountId: number): { minute: number; day: number } {
  using file = new LimitFile(path);
  const accounts = new AccountUsageTable(file);
  const record = accounts.table.find(accountId);
  const usage = record === 0 ? undefined : accounts.read(record, accountId);
  return { minute: usage?.minute.count ?? 0, day: usage?.day.count ?? 0 };
}

/** Bans a key until this time, in seconds on the monotonic clock. */
export function banIn(path: string, keyId: number, bannedUntil: number): void {
  const how = { strikes: 100, strictSince: 0 };
  using file = existsSync(path) ? new LimitFile(path) : createLimitFile({ limits: path, data: path }, how);
  const keys = new KeyPenaltyTable(file);
  const record = keys.table.make(keyId, new RecordLocks(file, 255));
  keys.write(record, keyId, noPenalty, { ...noPenalty, bannedUntil });
}

/** Changes the file as if this worker held the lock of the account's record. */
export function slotLockedBy(path: string, accountId: number, worker: number): void {
  using file = new LimitFile(path);
  const place = header.workers + 2 * worker;
  const word = new AccountUsageTable(file).table.find(accountId) / 4;
  file.i32[place + 1] = word;
  file.i32[word] = file.i32[place] as number;
}
