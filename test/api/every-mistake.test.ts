/** Every mistake that the rows of the operations allow: in path, query, headers, credential and body. */
import { expect, test } from 'bun:test';
import { cases, invalidRequests } from '../stress/invalid.ts';
import { callerKeys } from '../stress/walk/caller.ts';
import { startTestApp } from '../support/app.ts';

test('a request with one mistake is rejected with its code, names the mistake, and changes nothing', async () => {
  await using app = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '1000000' });
  const service = { url: app.url, ...(await callerKeys(app.operator)) };
  const options = { rounds: 6 * cases.length, seed: 20_301_205, progress: () => {} };
  expect((await invalidRequests(service, options))['of each at least']).toBe(6);
});
