/** The tests of `npm run stress` about requests, with small counts. */
import { expect, test } from 'bun:test';
import { hostileJson } from '../stress/hostile-json.ts';

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;

test('hostile JSON is rejected or read exactly', async () => {
  const { bodies } = await hostileJson({ rounds: 1, seed, progress }, Number.POSITIVE_INFINITY);
  expect(bodies).toBeGreaterThanOrEqual(400);
});
