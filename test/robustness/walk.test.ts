/**
 * The random walks of `npm run stress`, with small counts. test/storage/every-operation.test.ts has the walk of a
 * single client.
 */
import { test } from 'bun:test';
import { walkOn } from '../stress/walk.ts';

const seed = 20_301_205;
/** With fewer clients, each makes more steps. */
const clients = 16;
const progress = () => undefined;

test.each([
  ['embedded', 2_000],
  ['cluster', 500],
] as const)('many concurrent clients get the responses of the model (store: %s)', async (ground, rounds) => {
  await walkOn(ground, { rounds, seed, progress }, clients);
});
