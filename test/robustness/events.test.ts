/** The event test of `npm run stress`, with small counts. */
import { test } from 'bun:test';
import { everyEvent } from '../stress/events.ts';
import { shopKinds } from '../stress/shop-places.ts';

const seed = 20_301_205;
const progress = () => undefined;

test.each(shopKinds)(
  'readers receive each event exactly once and in order, and a copy built from the events matches the store, despite kill -9, $title',
  async ({ open }) => {
    await using place = await open();
    if (place !== undefined) await everyEvent(place, { rounds: 1_600, seed, progress });
  },
);
