/** The buyers of `npm run stress`, with few of them and few kills. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { clusterGround, embeddedGround } from '../stress/buyers/ground.ts';
import { market } from '../stress/buyers/market.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const few = { buyers: 16, animals: 30, kills: 3, seed: 20_301_205, progress: () => undefined };

test.each([
  ['a service with two workers', embeddedGround],
  ['three instances, PostgreSQL and Redis', clusterGround],
] as const)('many buyers get each animal exactly once, through kill -9 (of %s)', async (_, open) => {
  await using ground = await open();
  // Told once, when the servers were looked for.
  if (ground === undefined) return;
  const { orders, kills } = await market(ground, few);
  expect(orders).toBeGreaterThanOrEqual(few.animals);
  expect(Object.keys(kills).length).toBeGreaterThan(1);
});
