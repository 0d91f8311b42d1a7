/**
 * The random walks of `npm run stress`, with small counts. test/storage/every-operation.test.ts contains the walk of a
 * single client.
 */
import { test } from 'bun:test';
import { walkOn } from '../stress/walk.ts';

const seed = 20_301_205;
/** Fewer clients than in the stress test, so that each client sends more requests. */
const clients = 16;
const progress = () => undefined;

test.each([
  ['embedded', 2_000],
  ['cluster', 500],
] as const)(
  'many concurrent clients get the responses that the model expects (store: %s)',
  async (ground, rounds) => {
    await walkOn(ground, { rounds, seed, progress }, clients);
  },
);
