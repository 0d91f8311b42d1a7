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
