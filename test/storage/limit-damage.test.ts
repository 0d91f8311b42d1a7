/** Damage to the limit file never causes a crash: it is detected and repaired, and limits only become stricter. */
import { expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { plans } from '../../src/domain/plan.ts';
import { AccountUsageTable } from '../../src/limits/file/account-counts.ts';
import { KeyPenaltyTable } from '../../src/limits/file/key-penalties.ts';
import { computeChecksum, extentBytes, header, limitTables } from '../../src/limits/file/layout.ts';
import { LimitFile } from '../../src/limits/file/limit-file.ts';
import { StorageUnavailable, StoreUnusableError } from '../../src/outages/errors.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { callerOf, limitFile, openAlone } from './limit-kit.ts';
import { strictRules } from './place.ts';

const small = { perMinute: 2, perDay: 100 };

/** Exhausts the limit, waits for the grace period of one second, then sends this many requests, which are rejected. */
function strike(limits: ReturnType<typeof openAlone>['limits'], clock: FakeClock, strikes: number): void {
  for (let request = 0; request < 3; request++) limits.take(callerOf(small));
  clock.advance(1);
  for (let time = 0; time < strikes; time++) limits.take(callerOf(small));
}

function flip(path: string, byte: number): void {
  const bytes = readFileSync(path);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of((bytes[byte] ?? 0) ^ 0xff), 0, 1, byte);
  closeSync(file);
}

const accountRecordOf = (path: string, accountId: number): number => {
  using file = new LimitFile(path);
  return new AccountUsageTable(file).table.find(accountId);
};
const keyRecordOf = (path: string, keyId: number): number => {
  using file = new LimitFile(path);
  return new KeyPenaltyTable(file).table.find(keyId);
};
/** Offsets of a table's extents. */
const extentsOf = (path: string, { directory }: { directory: number }): number[] => {
  using file = new LimitFile(path);
  return [...file.i32.subarray(directory, directory + 8)].filter((extent) => extent > 0);
};

test('a torn count is replaced by the previous copy; if both copies are torn, the limit is treated as exhausted and the damage is reported', async () => {
  await using folder = await temporaryFolder();
  await using serving = openAlone(folder.path, new FakeClock());
  const { limits, notices } = serving;
  for (let request = 0; request < 4; request++) limits.take(callerOf(plans.free));
  const record = accountRecordOf(limitFile(folder.path), 1);
  // The fourth count has an even sequence number, so it is in the first copy.
  flip(limitFile(folder.path), record + 8);
  expect(limits.take(callerOf(plans.free)).minute.remaining).toBe(56);
  expect(notices).toEqual([]);
  flip(limitFile(folder.path), record + 32);
  for (let request = 0; request < 2; request++) {
    expect(limits.take(callerOf(plans.free))).toMatchObject({
      errorCode: 'daily_quota_exceeded',
      remaining: 0,
    });
  }
  expect(limits.take(callerOf(plans.free, 2)).minute.remaining).toBe(59);
  expect(notices).toEqual([
    'limit state is damaged, for example that of account 1: its limits count as exhausted',
  ]);
});

test("if a key's record is torn, the damage is reported and the key is banned for the maximum time, until the ban is lifted", async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await using serving = openAlone(folder.path, clock);
  const { limits, notices } = serving;
  strike(limits, clock, 1);
  const record = keyRecordOf(limitFile(folder.path), 1);
  for (const byte of [8, 40]) flip(limitFile(folder.path), record + byte);
  expect(limits.take(callerOf(small))).toMatchObject({
    errorCode: 'api_key_banned',
    retryAfterSeconds: 86_400,
  });
  expect(notices.length).toBe(1);
  expect(limits.lift(1)).toBe(true);
  expect(limits.take(callerOf(small)).errorCode).toBe('rate_limit_exceeded');
});

test('if the header is damaged, no counts or bans are lost: the file is rebuilt, and each window restarts with its count', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  {
    await using serving = openAlone(folder.path, clock);
    strike(serving.limits, clock, strictRules.ban.strikes);
    serving.limits.take(callerOf(plans.free, 5_000));
  }
  flip(limitFile(folder.path), header.strikes * 4);
  clock.advance(30);
  await using serving = openAlone(folder.path, clock);
  expect(serving.notices.length).toBe(1);
  expect(serving.notices[0]).toContain(`limit state was damaged and ${limitFile(folder.path)} was rebuilt`);
  expect(serving.limits.take(callerOf(small))).toMatchObject({
    errorCode: 'api_key_banned',
    retryAfterSeconds: 90,
    day: { remaining: 98 },
  });
  const { minute } = serving.limits.take(callerOf(plans.free, 5_000));
  expect([minute.remaining, minute.secondsLeft]).toEqual([58, 60]);
});

test('requests from accounts whose counts were lost are rejected for a day', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  {
    await using serving = openAlone(folder.path, clock);
    serving.limits.take(callerOf(plans.free));
    serving.limits.take(callerOf(plans.free, 5_000));
  }
  const [first = 0] = extentsOf(limitFile(folder.path), limitTables.accounts);
  flip(limitFile(folder.path), first * extentBytes);
  await using serving = openAlone(folder.path, clock);
  expect(serving.notices.length).toBe(1);
  expect(serving.limits.take(callerOf(plans.free)).errorCode).toBe('daily_quota_exceeded');
  expect(serving.limits.take(callerOf(plans.free, 5_000)).minute.remaining).toBe(58);
  clock.advance(86_400);
  expect(serving.limits.take(callerOf(plans.free)).minute.remaining).toBe(59);
});

test('a truncated or empty file is opened, and the loss is reported', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  {
    await using serving = openAlone(folder.path, clock);
    serving.limits.take(callerOf(plans.free));
    serving.limits.take(callerOf(plans.free, 5_000));
  }
  truncateSync(limitFile(folder.path), statSync(limitFile(folder.path)).size - 1);
  {
    await using serving = openAlone(folder.path, clock);
    expect(serving.limits.take(callerOf(plans.free)).minute.remaining).toBe(58);
    expect(serving.limits.take(callerOf(plans.free, 5_000)).minute.remaining).toBe(59);
    expect(serving.notices).toEqual([expect.stringContaining('is shorter than it was')]);
  }
  writeFileSync(limitFile(folder.path), '');
  await using serving = openAlone(folder.path, clock);
  expect(serving.limits.take(callerOf(plans.free)).errorCode).toBe('daily_quota_exceeded');
  expect(serving.notices.length).toBe(1);
});

test('whichever sectors are overwritten, the file can be opened and every request is admitted or rejected', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const random = randomFrom(5);
  const path = limitFile(folder.path);
  for (let round = 0; round < 60; round++) {
    {
      await using serving = openAlone(folder.path, clock);
      for (let account = 1; account <= 40; account++) {
        for (let request = 0; request < 4; request++) {
          try {
            serving.limits.take(callerOf(small, account));
          } catch (error) {
            // A damaged lock word may contain the number of a running process.
            expect(error).toBeInstanceOf(StorageUnavailable);
          }
        }
      }
      serving.limits.fail('192.0.2.1');
      serving.limits.bans();
    }
    const sectors = statSync(path).size / 512;
    const file = openSync(path, 'r+');
    for (let time = 0; time < 20; time++) {
      const bytes = Buffer.from(Array.from({ length: 512 }, () => Math.floor(random() * 256)));
      const among = random() < 0.5 ? 16 : sectors;
      const sector = Math.floor(random() * among) + (random() < 0.5 ? (extentBytes / 512) * 9 : 0);
      if (sector < sectors) writeSync(file, random() < 0.5 ? bytes : Buffer.alloc(512), 0, 512, sector * 512);
    }
    closeSync(file);
  }
});

test('changing BAN_STRIKES keeps counts, strikes and bans', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const rules = (strikes: number) => ({ ...strictRules, ban: { ...strictRules.ban, strikes } });
  {
    await using serving = openAlone(folder.path, clock, rules(3));
    strike(serving.limits, clock, 2);
  }
  for (const [strikes, more] of [
    [50, 47],
    [1_000, 3],
  ] as const) {
    await using serving = openAlone(folder.path, clock, rules(strikes));
    expect(serving.notices).toEqual([]);
    for (let time = 0; time < more; time++) {
      expect(serving.limits.take(callerOf(small))).toMatchObject({
        errorCode: 'rate_limit_exceeded',
        day: { remaining: 98 },
      });
    }
  }
  const banned = { keyId: 1, bannedUntil: clock.seconds + 120, level: 0 };
  for (const strikes of [53, 1_001]) {
    await using serving = openAlone(folder.path, clock, rules(strikes));
    expect(serving.limits.take(callerOf(small)).errorCode).toBe('api_key_banned');
    expect(serving.limits.bans()).toEqual([banned]);
  }
});

test('a file written by a newer version is rejected with an error and left unchanged', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  await openAlone(folder.path, clock)[Symbol.asyncDispose]();
  const bytes = readFileSync(limitFile(folder.path));
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, header.checksum + 1);
  words[header.format] = 2;
  words[header.checksum] = computeChecksum(words, 0, header.checksum, 0);
  writeFileSync(limitFile(folder.path), bytes);
  expect(() => openAlone(folder.path, clock)).toThrow(StoreUnusableError);
  expect(() => openAlone(folder.path, clock)).toThrow(
    /written by a newer version .*format 2, this version supports up to 1/,
  );
  expect(readFileSync(limitFile(folder.path))).toEqual(bytes);
});

test('a file that is deleted or replaced while in use is reported, and limits are still enforced', async () => {
  for (const how of ['deleted', 'replaced'] as const) {
    await using folder = await temporaryFolder();
    await using serving = openAlone(folder.path, new FakeClock());
    const { limits, notices } = serving;
    const path = limitFile(folder.path);
    limits.take(callerOf(plans.free));
    if (how === 'replaced') copyFileSync(path, `${path}.copy`);
    if (how === 'deleted') rmSync(path);
    else renameSync(`${path}.copy`, path);
    const problem = `limit storage unavailable: ${path} was ${how === 'deleted' ? 'deleted or moved' : how} while it was in use; put the same file back, or restart the service`;
    await until(() => limits.trouble === `degraded: ${problem}`);
    expect(notices).toEqual([`degraded: ${problem}`]);
    expect(limits.take(callerOf(plans.free)).minute.remaining).toBe(58);
  }
});
