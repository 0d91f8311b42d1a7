/** A short form of the stress test `buyers`. */
import { expect, test } from 'bun:test';
import { market } from '../stress/buyers/market.ts';
import { clusterShop, embeddedShop, impatientSettings } from '../stress/shop-places.ts';

const few = { buyers: 16, animals: 30, kills: 3, seed: 20_301_205, progress: () => undefined };

test.each([
  ['a service with two workers', () => embeddedShop(2)],
  ['three instances, PostgreSQL and Redis', () => clusterShop(impatientSettings)],
] as const)('each animal goes to exactly one of many buyers, through kill -9 (%s)', async (_, open) => {
  await using ground = await open();
  if (ground === undefined) return;
  const { orders, kills } = await market(ground, few);
  expect(orders).toBeGreaterThanOrEqual(few.animals);
  const count = Object.values(kills).reduce((sum, times) => sum + times, 0);
  expect(count).toBeGreaterThanOrEqual(few.kills);
});
