import { Database } from 'bun:sqlite';
import { expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { plans, type Quota } from '../../src/domain/plan.ts';
import { troubles } from '../../src/domain/trouble.ts';
import type { Caller, LimitStore, Storage } from '../../src/storage/storage.ts';
import { openStore } from '../../src/store.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { start } from '../support/process.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { strictRules } from './place.ts';
import { rowsOf } from './sqlite-files.ts';

setDefaultTimeout(testTimeoutMs);

const quotas: Record<string, Quota> = {
  ...plans,
  'enterprise of one': { perMinute: 1, perDay: 1 },
  'enterprise of 150': { perMinute: 150, perDay: 260 },
  'enterprise without a minute limit of note': { perMinute: 1_000_000, perDay: 700 },
};

function open(folder: string, clock: FakeClock): Promise<Storage> {
  const url = `sqlite:${join(folder, 'store.db')}`;
  return openStore({ url, clock, rules: strictRules, serving: true, notice: () => {} });
}

function callerOf(quota: Quota, accountId = 1): Caller {
  return { keyId: accountId, accountId, quota, expiresAt: Number.POSITIVE_INFINITY };
}

async function take(limits: LimitStore, caller: Caller) {
  const { verdict } = await limits.take(caller, (await limits.versions()).callers);
  if (verdict === undefined) throw new Error('The version just read is stale already.');
  return verdict;
}

function countsOnDisk(folder: string, accountId = 1): { minute: number; day: number } {
  const sql = 'SELECT minute_count AS minute, day_count AS day FROM usage WHERE account_id = ?';
  const [row] = rowsOf<{ minute: number; day: number }>(join(folder, 'store.limits.db'), sql, accountId);
  return row ?? { minute: 0, day: 0 };
}

/** A step is 1 % of a limit, at least 1 (contract, section 6). */
function mostAhead(limit: number): number {
  return Math.max(1, Math.floor(limit / 100));
}

for (const [name, quota] of Object.entries(quotas)) {
  test(`${name}: the disk never counts less than was admitted, nor a step more`, async () => {
    await using folder = await temporaryFolder();
    const clock = new FakeClock();
    await using store = await open(folder.path, clock);
    for (let request = 0, admitted = 0, minuteStart = 0; request < 400; request++) {
      const { refusal, minute } = await take(store.limits, callerOf(quota));
      if (refusal === undefined) admitted++;
      else if (refusal === 'daily_quota_exceeded') break;
      else {
        clock.advance(minute.secondsLeft);
        minuteStart = admitted;
        continue;
      }
      const disk = countsOnDisk(folder.path);
      expect(disk.minute).toBeGreaterThanOrEqual(admitted - minuteStart);
      expect(disk.minute).toBeLessThan(admitted - minuteStart + mostAhead(quota.perMinute));
      expect(disk.day).toBeGreaterThanOrEqual(admitted);
      expect(disk.day).toBeLessThan(admitted + mostAhead(quota.perDay));
      expect(disk.minute).toBeLessThanOrEqual(quota.perMinute);
      expect(disk.day).toBeLessThanOrEqual(quota.perDay);
    }
  });

  test(`${name}: after a crash nobody is over quota, and at most one step is charged unused`, async () => {
    await using folder = await temporaryFolder();
    const clock = new FakeClock();
    await using store = await open(folder.path, clock);
    const before = Math.min(quota.perDay, quota.perMinute, 77);
    for (let request = 0; request < before; request++) await take(store.limits, callerOf(quota));

    // What a process that is killed leaves behind: its files, as they are on disk at that moment.
    await using left = await temporaryFolder();
    cpSync(folder.path, left.path, { recursive: true });
    await using after = await open(left.path, clock);
    const { minute, day, refusal } = await take(after.limits, callerOf(quota));
    const own = refusal === undefined ? 1 : 0;
    expect(minute.remaining).toBeLessThanOrEqual(quota.perMinute - before - own);
    expect(minute.remaining).toBeGreaterThan(quota.perMinute - before - own - mostAhead(quota.perMinute));
    expect(day.remaining).toBeLessThanOrEqual(quota.perDay - before - own);
    expect(day.remaining).toBeGreaterThan(quota.perDay - before - own - mostAhead(quota.perDay));
  });
}

test('a store that is closed leaves exact counts', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  {
    await using store = await open(folder.path, clock);
    for (let request = 0; request < 13; request++) await take(store.limits, callerOf(plans.business));
  }
  expect(countsOnDisk(folder.path)).toEqual({ minute: 13, day: 13 });
});

test('a restart within the minute goes on in the same windows', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  let first: { minute: { resetAt: number }; day: { resetAt: number } };
  {
    await using store = await open(folder.path, clock);
    first = await take(store.limits, callerOf(plans.free));
  }
  clock.advance(59);
  await using store = await open(folder.path, clock);
  const second = await take(store.limits, callerOf(plans.free));
  expect([second.minute.resetAt, second.day.resetAt]).toEqual([first.minute.resetAt, first.day.resetAt]);
  expect(second.minute.remaining).toBe(58);
});

test('a date that was set back while nobody served keeps counts, and lets no ban last longer than one of its level', async () => {
  await using folder = await temporaryFolder();
  const caller = callerOf({ perMinute: 2, perDay: 100 });
  {
    const clock = new FakeClock('2027-01-15T10:00:00Z');
    await using store = await open(folder.path, clock);
    for (let request = 0; request < 3; request++) await take(store.limits, caller);
    clock.advance(1);
    for (let strike = 0; strike < strictRules.ban.strikes; strike++) await take(store.limits, caller);
  }
  const clock = new FakeClock('2027-01-15T09:00:00Z');
  await using store = await open(folder.path, clock);
  const banned = await take(store.limits, caller);
  expect(banned).toMatchObject({ refusal: 'api_key_banned', retryAfterSeconds: 120 });
  expect(banned.day.remaining).toBe(98);
  clock.advance(120);
  expect(await take(store.limits, caller)).toMatchObject({ refusal: undefined, day: { remaining: 97 } });
});

test('accounts that are dropped from memory have their exact counts on disk, and go on from there', async () => {
  await using folder = await temporaryFolder();
  await using store = await open(folder.path, new FakeClock());
  for (let request = 0; request < 3; request++) await take(store.limits, callerOf(plans.business));
  expect(countsOnDisk(folder.path)).toEqual({ minute: 10, day: 1_000 });
  for (let other = 2; other <= 100_001; other++) await take(store.limits, callerOf(plans.business, other));
  expect(countsOnDisk(folder.path)).toEqual({ minute: 3, day: 3 });
  expect((await take(store.limits, callerOf(plans.business))).minute.remaining).toBe(996);
});

test('a limit file that is locked holds up no request, and has all that was counted as soon as it can', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using store = await open(folder.path, clock);
  using other = new Database(join(folder.path, 'store.limits.db'));
  other.run('BEGIN IMMEDIATE');
  // Each of these is to be written. A wait for the lock, however short, would be had 1,000 times before the next line.
  for (let account = 1; account <= 1_000; account++) await take(store.limits, callerOf(plans.free, account));
  other.run('ROLLBACK');
  while ((await store.health()).length > 0) await Bun.sleep(5);
  const sql = 'SELECT count(*) AS accounts, sum(day_count) AS counted FROM usage';
  expect(rowsOf(join(folder.path, 'store.limits.db'), sql)).toEqual([{ accounts: 1_000, counted: 1_000 }]);
});

test('a ban is kept while the limit file is locked, and is in it afterwards', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using store = await open(folder.path, clock);
  const caller = callerOf({ perMinute: 1, perDay: 100 });
  using other = new Database(join(folder.path, 'store.limits.db'));
  other.run('BEGIN IMMEDIATE');
  // One that is admitted, one that is refused, and after a second of grace three strikes.
  for (const seconds of [0, 2, 0, 0, 0]) {
    await take(store.limits, caller);
    clock.advance(seconds);
  }
  expect((await take(store.limits, caller)).refusal).toBe('api_key_banned');
  expect(await store.limits.bans()).toEqual([]);
  other.run('ROLLBACK');
  while ((await store.health()).length > 0) await Bun.sleep(5);
  expect((await store.limits.bans()).map(({ keyId }) => keyId)).toEqual([1]);
});

test('a store that is closed while its limit file is locked waits for the lock, and loses no count', async () => {
  await using folder = await temporaryFolder();
  const holder = join(import.meta.dir, 'hold-lock.ts');
  const path = join(folder.path, 'store.limits.db');
  {
    await using store = await open(folder.path, new FakeClock());
    await take(store.limits, callerOf(plans.free));
    await using other = start([process.execPath, holder, path]);
    await other.said('locked');
    for (let request = 0; request < 4; request++) await take(store.limits, callerOf(plans.free));
    expect(countsOnDisk(folder.path).minute).toBe(1);
    // It lets go in a moment, while this process waits.
    other.signal('SIGUSR1');
  }
  expect(countsOnDisk(folder.path).minute).toBe(5);
});

test('a limit file that cannot be written refuses nobody, is told of, and is written again when it can be', async () => {
  await using folder = await temporaryFolder();
  await using store = await open(folder.path, new FakeClock());
  await take(store.limits, callerOf(plans.free));
  using other = new Database(join(folder.path, 'store.limits.db'));
  other.run('BEGIN IMMEDIATE');
  expect((await take(store.limits, callerOf(plans.free))).minute.remaining).toBe(58);
  expect(store.health()).toEqual([troubles.limitFile]);
  expect(countsOnDisk(folder.path)).toEqual({ minute: 1, day: 10 });
  other.run('ROLLBACK');
  expect((await take(store.limits, callerOf(plans.free))).minute.remaining).toBe(57);
  while (store.health().length > 0) await Bun.sleep(5);
  expect(countsOnDisk(folder.path).minute).toBe(3);
});
