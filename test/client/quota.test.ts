import { expect, test } from 'bun:test';
import { Quota } from '../../client/src/quota.ts';

const limits = (remaining: number, resetSeconds = 50) => ({
  minute: { limit: 60, remaining, resetSeconds },
  day: { limit: 1_000, remaining: 900, resetSeconds: 40_000 },
});

test('if responses arrive out of order, the lower remaining quota wins', () => {
  const quota = new Quota();
  quota.update(limits(10), 0, 100);
  quota.update(limits(7), 200, 300);
  // The response to a request that was sent before the previous response arrived.
  quota.update(limits(8), 200, 310);
  expect(quota.left(400)).toBe(7);
  quota.update(limits(9), 320, 400);
  expect(quota.left(400)).toBe(9);
});

test('the first reset time reported for a window is kept, because seconds are rounded up', () => {
  const quota = new Quota();
  quota.update(limits(0, 50), 0, 100);
  quota.update(limits(0, 50), 0, 900);
  expect(quota.exhausted(1_000)).toEqual({ until: 50_100, isDay: false });
  expect(quota.exhausted(50_100)).toBeUndefined();
});

test('a response without rate-limit headers leaves a known quota unchanged, and means "no limits" if no quota is known', () => {
  const known = new Quota();
  known.update(limits(3), 0, 100);
  known.update(undefined, 200, 300);
  expect(known.left(400)).toBe(3);
  const free = new Quota();
  free.update(undefined, 0, 100);
  expect([free.left(200), free.isFresh(200, 1_000, 0)]).toEqual([Number.POSITIVE_INFINITY, true]);
});
