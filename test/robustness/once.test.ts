/** The repeated-write tests of `npm run stress`, with small counts. */
import { expect, test } from 'bun:test';
import { eachOnce } from '../stress/once.ts';
import { shopKinds } from '../stress/shop-places.ts';

/** A fixed seed, so that every run tests the same cases. `npm run stress` uses other seeds. */
const seed = 20_301_205;
const progress = () => undefined;

test.each(shopKinds)(
  "a client's write is applied exactly once, despite kill -9, $title",
  async ({ open }) => {
    await using place = await open();
    if (place === undefined) return;
    expect(await eachOnce(place, { rounds: 60, seed, progress }, 20)).toMatchObject({ 'kill -9': 3 });
  },
);
