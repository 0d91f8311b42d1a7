/** The tests of `npm run stress` about writes that are repeated, with small counts. */
import { expect, test } from 'bun:test';
import { eachOnce } from '../stress/once.ts';
import { shopKinds } from '../stress/shop-places.ts';

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;

test.each(shopKinds)('a write that is repeated under its key is done once, $title', async ({ open }) => {
  await using place = await open();
  if (place === undefined) return;
  const figures = await eachOnce(place, { rounds: 60, seed, progress }, 20);
  expect(figures['kill -9']).toBe(3);
  // Every tenth write is repeated.
  expect(figures['answers replayed']).toBeGreaterThanOrEqual(6);
});
