import { expect, test } from 'bun:test';

import { LocalLimits } from '../../src/limits/redis/local-limits.ts';
import { FakeClock } from '../support/clock.ts';
import { strictRules } from './place.ts';
import { callerWith } from './samples.ts';

test('while Redis is unreachable, the number of accounts with local state is bounded', () => {
  const localLimits = new LocalLimits(strictRules);
  const nowMs = new FakeClock().now();
  for (let accountId = 1; accountId <= 100_500; accountId++) {
    const caller = callerWith({ keyId: accountId, accountId });
    localLimits.take(caller, nowMs);
  }
  expect(localLimits.unreported().length).toBe(100_000);
  const changed = localLimits.takeChanged(Number.POSITIVE_INFINITY).map(({ accountId }) => accountId);
  expect(changed.length).toBe(100_000);
  localLimits.requeueChanged([...changed, 1]);
  expect(localLimits.takeChanged(Number.POSITIVE_INFINITY).length).toBe(100_000);
});

const caller = callerWith({ quota: { perMinute: 50, perDay: 60 } });
const second = 1_800_000_000;
const usageOf = (count: number) => ({
  minute: { openedAt: second, count },
  day: { openedAt: second, count },
});

test('counts that Redis has not received are not saved, so that they are never counted twice', () => {
  const localLimits = new LocalLimits(strictRules);
  localLimits.learnUsage(caller.accountId, usageOf(3));
  for (let count = 0; count < 5; count++) localLimits.take(caller, second * 1_000);
  expect(localLimits.takeChanged(1)).toEqual([{ accountId: caller.accountId, usage: usageOf(3) }]);
});

test('counts that other instances have saved are added to the counts that Redis has not received', () => {
  const localLimits = new LocalLimits(strictRules);
  localLimits.learnUsage(caller.accountId, usageOf(3));
  localLimits.take(caller, second * 1_000);
  localLimits.mergeSnapshot(caller.accountId, caller.keyId, usageOf(10), { bannedUntil: 0, level: 0 });
  expect(localLimits.held(caller.accountId)).toMatchObject({ usage: usageOf(11), day: { count: 1 } });
});

test('counts that other instances have saved belong to the same window, even if its start moved when the clock was stepped', () => {
  const localLimits = new LocalLimits(strictRules);
  localLimits.learnUsage(caller.accountId, usageOf(3));
  localLimits.take(caller, second * 1_000);
  const { minute, day } = usageOf(10);
  for (const step of [-2, 2]) {
    const moved = {
      minute: { ...minute, openedAt: second + step },
      day: { ...day, openedAt: second + step },
    };
    localLimits.mergeSnapshot(caller.accountId, caller.keyId, moved, { bannedUntil: 0, level: 0 });
    expect(localLimits.held(caller.accountId)).toMatchObject({ usage: usageOf(11), day: { count: 1 } });
  }
});

test('counts that Redis has not received are saved when the instance stops', () => {
  const localLimits = new LocalLimits(strictRules);
  localLimits.learnUsage(caller.accountId, usageOf(3));
  localLimits.take(caller, second * 1_000);
  localLimits.takeChanged(1);
  localLimits.giveUpReports();
  expect(localLimits.takeChanged(1)).toEqual([{ accountId: caller.accountId, usage: usageOf(4) }]);
});

test('counts that Redis has received after an outage are saved', () => {
  const localLimits = new LocalLimits(strictRules);
  localLimits.learnUsage(caller.accountId, usageOf(3));
  localLimits.take(caller, second * 1_000);
  localLimits.takeChanged(1);
  localLimits.takeUnreported(caller.accountId);
  localLimits.requeueChanged([caller.accountId]);
  expect(localLimits.takeChanged(1)).toEqual([{ accountId: caller.accountId, usage: usageOf(4) }]);
});
