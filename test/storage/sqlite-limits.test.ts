/** Guarantees of limit state in a memory-mapped file: several processes, crashes and clock changes. */
import { expect, test } from 'bun:test';
import { closeSync, cpSync } from 'node:fs';
import { plans } from '../../src/domain/plan.ts';
import { maxWorkers } from '../../src/domain/workers.ts';
import { AccountUsageTable } from '../../src/limits/file/account-counts.ts';
import { header, limitTables } from '../../src/limits/file/layout.ts';
import { LimitFile } from '../../src/limits/file/limit-file.ts';
import type { Limits } from '../../src/limits/file/limits.ts';
import { openLimits } from '../../src/limits/file/open-limits.ts';
import { RecordLocks } from '../../src/limits/file/record-locks.ts';
import { LimitSync } from '../../src/limits/file/sync.ts';
import { LimitTable } from '../../src/limits/file/table.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { countsIn } from '../support/limit-file.ts';
import { until } from '../support/wait.ts';
import { callerOf, dataFile, limitFile, openAlone } from './limit-kit.ts';
import { strictRules } from './place.ts';

/** Leaves the account locked, like a process that is killed while it counts. */
function leaveLocked(path: string, accountId: number, worker = 1): void {
  using file = new LimitFile(path);
  new RecordLocks(file, worker).acquire(new AccountUsageTable(file).table.find(accountId) / 4);
}

test('only requests from an account locked by a killed process are rejected, and only until the lock is released', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  const { limits } = serving;
  limits.take(callerOf(plans.free));
  leaveLocked(limitFile(folder.path), 1);
  for (let request = 0; request < 3; request++) {
    expect(() => limits.take(callerOf(plans.free))).toThrow(StorageUnavailable);
  }
  expect(limits.take(callerOf(plans.free, 2)).minute.remaining).toBe(59);
  limits.freeLocksOf(2);
  expect(() => limits.take(callerOf(plans.free))).toThrow(StorageUnavailable);
  limits.freeLocksOf(1);
  expect(limits.take(callerOf(plans.free)).minute.remaining).toBe(58);
});

test('after a restart, all locks of earlier processes are invalid', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const earlier = openAlone(folder.path, clock);
  earlier.limits.take(callerOf(plans.free));
  leaveLocked(limitFile(folder.path), 1);
  await using later = openAlone(folder.path, clock);
  expect(later.limits.take(callerOf(plans.free)).minute.remaining).toBe(58);
  expect(() => earlier.limits.take(callerOf(plans.free))).toThrow(StorageUnavailable);
  expect(later.limits.take(callerOf(plans.free)).minute.remaining).toBe(57);
  await earlier[Symbol.asyncDispose]();
});

test('every count is written to the file immediately', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using serving = openAlone(folder.path, clock);
  for (let request = 1; request <= 20; request++) {
    serving.limits.take(callerOf(plans.business));
    expect(countsIn(limitFile(folder.path), 1)).toEqual({ minute: request, day: request });
    // State left behind by a killed process.
    await using left = await temporaryFolder();
    cpSync(folder.path, left.path, { recursive: true });
    await using after = openAlone(left.path, clock);
    expect(after.limits.take(callerOf(plans.business)).day.remaining).toBe(100_000 - request - 1);
  }
});

test('failed authentications are counted across a restart, separately for many addresses', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const addresses = Array.from({ length: 5_000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
  {
    await using serving = openAlone(folder.path, clock);
    for (const address of addresses) serving.limits.fail(address);
  }
  await using serving = openAlone(folder.path, clock);
  const lost = addresses.filter((address) => serving.limits.peek(address).remaining !== 4);
  expect(lost).toEqual([]);
});

test('excess addresses are evicted, starting with expired addresses and then the oldest', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using serving = openAlone(folder.path, clock);
  for (let old = 0; old < 120_000; old++) serving.limits.fail(`old ${old}`);
  clock.advance(1);
  for (let fresh = 0; fresh < 1_000; fresh++) serving.limits.fail(`fresh ${fresh}`);
  for (let fresh = 0; fresh < 1_000; fresh++) {
    expect(serving.limits.peek(`fresh ${fresh}`).remaining).toBe(4);
  }
});

test('an id for which a full table has no room is rejected, and the error states the reason', async () => {
  await using folder = await temporaryFolder();
  await using _serving = openAlone(folder.path, new FakeClock());
  using file = new LimitFile(limitFile(folder.path));
  const table = new LimitTable(file, limitTables.addresses, 64);
  let failure: unknown;
  try {
    table.make(table.capacity, new RecordLocks(file, 1));
  } catch (error) {
    failure = error;
  }
  expect(failure).toBeInstanceOf(StorageUnavailable);
  expect(((failure as StorageUnavailable).cause as Error).message).toContain('no room for the id');
});

test('if the clock is set back while the service is stopped, counts are kept, and no remaining ban is longer than its original duration', async () => {
  await using folder = await temporaryFolder();
  const caller = callerOf({ perMinute: 2, perDay: 100 });
  {
    const clock = new FakeClock('2027-01-15T10:00:00Z');
    await using serving = openAlone(folder.path, clock);
    for (let request = 0; request < 3; request++) serving.limits.take(caller);
    clock.advance(1);
    for (let strike = 0; strike < strictRules.ban.strikes; strike++) serving.limits.take(caller);
  }
  const clock = new FakeClock('2027-01-15T09:00:00Z');
  await using serving = openAlone(folder.path, clock);
  const banned = serving.limits.take(caller);
  expect(banned).toMatchObject({ errorCode: 'api_key_banned', retryAfterSeconds: 120 });
  expect(banned.day.remaining).toBe(98);
  clock.advance(120);
  expect(serving.limits.take(caller)).toMatchObject({ errorCode: undefined, day: { remaining: 97 } });
});

test('a process whose clock is a millisecond behind does not reopen a window', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using serving = openAlone(folder.path, clock);
  const { resetAt } = serving.limits.take(callerOf(plans.free)).minute;
  clock.advance(-0.001);
  expect(serving.limits.take(callerOf(plans.free)).minute).toMatchObject({ resetAt, remaining: 58 });
});

/** Acts like another process of the service, with a separate mapping and locks. */
function openWorker(folder: string, worker: number): Limits {
  return openLimits({
    files: resolveStoreFiles(dataFile(folder)),
    role: 'worker',
    worker,
    clock: new FakeClock(),
    rules: strictRules,
    notice: () => {},
  });
}

test('records and locks of a process are visible to other processes, even after the process has exited', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  const worker = openWorker(folder.path, 1);
  for (const account of [5_000, 10_000, 15_000]) {
    expect(worker.take(callerOf(plans.free, account)).minute.remaining).toBe(59);
    expect(serving.limits.take(callerOf(plans.free, account)).minute.remaining).toBe(58);
  }
  const another = openWorker(folder.path, 2);
  another.take(callerOf(plans.free, 500_000));
  leaveLocked(limitFile(folder.path), 500_000);
  serving.limits.freeLocksOf(1);
  expect(serving.limits.take(callerOf(plans.free, 500_000)).minute.remaining).toBe(58);
  for (const limits of [worker, another]) await limits.close();
});

test('the worker with the highest possible number shares the counts of the other workers, and its locks can be released', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  const last = openWorker(folder.path, maxWorkers);
  last.take(callerOf(plans.free));
  expect(serving.limits.take(callerOf(plans.free)).minute.remaining).toBe(58);
  leaveLocked(limitFile(folder.path), 1, maxWorkers);
  serving.limits.freeLocksOf(maxWorkers);
  expect(serving.limits.take(callerOf(plans.free)).minute.remaining).toBe(57);
  expect(serving.limits.fail('192.0.2.1').state.remaining).toBe(strictRules.failuresPerMinute - 1);
  await last.close();
});

test('a process with the worker number of a killed process releases the locks of that process', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  serving.limits.take(callerOf(plans.free));
  leaveLocked(limitFile(folder.path), 1);
  const worker = openWorker(folder.path, 1);
  expect(worker.take(callerOf(plans.free)).minute.remaining).toBe(58);
  await worker.close();
});

test('counts are synced eventually, and a failed sync is reported by every process', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  const worker = openWorker(folder.path, 1);
  using file = new LimitFile(limitFile(folder.path));
  worker.take(callerOf(plans.free));
  expect(file.i32[header.changed]).toBe(1);
  await until(() => file.i32[header.changed] === 0);
  expect([serving.limits.trouble, worker.trouble]).toEqual([undefined, undefined]);

  const lost = new LimitFile(limitFile(folder.path));
  const notices: string[] = [];
  const sync = new LimitSync(lost, (text) => notices.push(text), true);
  closeSync(lost.fd);
  lost.changed();
  await sync.run();
  expect(notices).toEqual([expect.stringMatching(/^degraded: limit storage unavailable: EBADF/)]);
  expect(worker.trouble).toBe('the last sync failed');
  await until(() => worker.trouble === undefined);
  await worker.close();
});

test('accounts and keys have separate counts and bans, however far apart their ids are', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  // The last two ids differ by a multiple of the number of accounts that fit into the file.
  const ids = [1, 1_000_000_003, 1_764_266_550_123_456, 1_764_266_550_123_456 + 1_024 * 4_096 * 4_095];
  const banned = ids.at(-1) as number;
  const take = (limits: Limits, id: number) => limits.take(callerOf({ perMinute: 10, perDay: 100 }, id));
  {
    await using serving = openAlone(folder.path, clock);
    for (const [index, id] of ids.entries())
      for (let request = 0; request < index; request++) take(serving.limits, id);
    for (let request = 0; request < 10; request++) take(serving.limits, banned);
    clock.advance(1);
    for (let strike = 0; strike < strictRules.ban.strikes; strike++) take(serving.limits, banned);
  }
  // A higher number of strikes needs larger records, so the file is created again.
  for (const strikes of [3, 5]) {
    const rules = { ...strictRules, ban: { ...strictRules.ban, strikes } };
    await using serving = openAlone(folder.path, clock, rules);
    expect(serving.notices).toEqual([]);
    expect(serving.limits.bans().map(({ keyId }) => keyId)).toEqual([banned]);
    const used = strikes === 3 ? 1 : 2;
    for (const [index, id] of ids.slice(0, -1).entries())
      expect([id, take(serving.limits, id).minute.remaining]).toEqual([id, 10 - index - used]);
  }
});
