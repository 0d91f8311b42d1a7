/** Every possible error in a request to any operation: in the path, query, headers, credential and body. */
import { expect, test } from 'bun:test';
import { cases, invalidRequests } from '../stress/invalid.ts';
import { callerKeys } from '../stress/walk/caller.ts';
import { startTestApp } from '../support/app.ts';

test('a request with a single error changes nothing, and returns the matching code and a message that identifies the error', async () => {
  await using app = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '1000000' });
  const service = { url: app.url, ...(await callerKeys(app.operator)) };
  const options = { rounds: 3 * cases.length, seed: 20_301_205, progress: () => {} };
  expect((await invalidRequests(service, options))['minimum of each']).toBe(3);
});
