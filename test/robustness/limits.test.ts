/** The tests of `npm run stress` about limits, with small counts. */
import { expect, test } from 'bun:test';
import { bansOnlyWhereDue } from '../stress/bans.ts';
import { limitConcurrency } from '../stress/limit-concurrency.ts';

const seed = 20_301_205;
const progress = () => undefined;

test('windows filled from many connections admit exactly their limit', async () => {
  expect((await limitConcurrency({ rounds: 2, seed, progress }))['business: admitted']).toBe(2_000);
});

test('polite clients are never banned, hammering ones always', async () => {
  expect((await bansOnlyWhereDue({ rounds: 40, seed, progress })).requests).toBeGreaterThan(400);
});
