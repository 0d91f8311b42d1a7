/** The tests of `npm run stress` about requests, with small counts. */
import { expect, test } from 'bun:test';
import { bothSidesOfBounds } from '../stress/bounds.ts';
import { hostileJson } from '../stress/hostile-json.ts';
import { int64Everywhere } from '../stress/int64.ts';

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;

test('every bound holds on both its sides', async () => {
  expect((await bothSidesOfBounds({ rounds: 1, seed, progress })).rows).toBeGreaterThanOrEqual(400);
});

test('hostile JSON is rejected or read exactly', async () => {
  const { bodies } = await hostileJson({ rounds: 1, seed, progress }, Number.POSITIVE_INFINITY);
  expect(bodies).toBeGreaterThanOrEqual(400);
});

test('int64 keeps every digit through every door', async () => {
  expect((await int64Everywhere({ rounds: 150, seed, progress })).values).toBe(150);
});
