/** The tests of `npm run stress` about requests, with small counts. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { bothSidesOfBounds } from '../stress/bounds.ts';
import { missing } from '../stress/generate/missing.ts';
import { hostileJson } from '../stress/hostile-json.ts';
import { int64Everywhere } from '../stress/int64.ts';
import { invalidRequests } from '../stress/invalid.ts';
import { validRequests } from '../stress/valid.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;

test('the generators in test/stress/generate know every operation of the contract', () => {
  const lacking = Object.entries(missing()).flatMap(([operationId, lacks]) =>
    lacks.map((lack) => `${operationId}: ${lack}`),
  );
  if (lacking.length > 0) throw new Error(`Add to test/stress/generate:\n${lacking.join('\n')}`);
});

test('generated valid requests are all answered as the contract says', async () => {
  const counts = await validRequests({ rounds: 500, seed, progress });
  expect(Math.min(counts.listPets, counts.createPet, counts.getPet)).toBeGreaterThan(45);
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(4);
});

test('generated requests with one mistake are all refused, and named', async () => {
  expect((await invalidRequests({ rounds: 1_200, seed, progress }))['of each at least']).toBeGreaterThan(5);
});

test('every bound holds on both its sides', async () => {
  expect((await bothSidesOfBounds({ rounds: 1, seed, progress })).rows).toBeGreaterThanOrEqual(400);
});

test('hostile JSON is rejected or read exactly', async () => {
  const { bodies } = await hostileJson({ rounds: 1, seed, progress }, Number.POSITIVE_INFINITY);
  expect(bodies).toBeGreaterThanOrEqual(400);
});

test('int64 keeps every digit through every door', async () => {
  expect((await int64Everywhere({ rounds: 150, seed, progress })).values).toBe(150);
});
