import { expect, test } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import { Mirror } from '../../src/storage/redis/mirror.ts';
import { FakeClock } from '../support/clock.ts';
import { strictRules } from './place.ts';

test('what an instance remembers of accounts has a bound, however many come while Redis is away', () => {
  const mirror = new Mirror(strictRules);
  const nowMs = new FakeClock().now();
  for (let accountId = 1; accountId <= 100_500; accountId++) {
    const caller = { keyId: accountId, accountId, quota: plans.free, expiresAt: Number.POSITIVE_INFINITY };
    mirror.take(caller, nowMs);
  }
  expect(mirror.untold().length).toBe(100_000);
  const changed = mirror.takeChanged(Number.POSITIVE_INFINITY).map(({ accountId }) => accountId);
  expect(changed.length).toBe(100_000);
  mirror.putBackChanged([...changed, 1]);
  expect(mirror.takeChanged(Number.POSITIVE_INFINITY).length).toBe(100_000);
});
