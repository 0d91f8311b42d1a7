/** The tests of `npm run stress` about writes that are repeated or meet each other, with small counts. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { noLostUpdate } from '../stress/lost-updates.ts';
import { eachOnce } from '../stress/once.ts';
import { shopKinds } from '../stress/shop-places.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;

test.each(shopKinds)('a write that is repeated under its key is done once, $title', async ({ open }) => {
  await using place = await open();
  if (place === undefined) return;
  const figures = await eachOnce(place, { rounds: 60, seed, progress });
  expect(figures['kill -9']).toBeGreaterThan(0);
  expect(figures['answers replayed']).toBeGreaterThan(25);
});

test.each(shopKinds)('no change under If-Match is lost, $title', async ({ open }) => {
  await using place = await open();
  if (place === undefined) return;
  const figures = await noLostUpdate(place, { rounds: 20, seed, progress });
  expect(figures['answered 412']).toBeGreaterThan(0);
});
