/** Every mistake that the rows of the operations allow: in path, query, headers, credential and body. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { cases, invalidRequests } from '../stress/invalid.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

test('a request with one mistake is rejected with its code, names the mistake, and changes nothing', async () => {
  const figures = await invalidRequests({ rounds: 2 * cases.length, seed: 20_301_205, progress: () => {} });
  expect(figures['of each at least']).toBe(2);
});
