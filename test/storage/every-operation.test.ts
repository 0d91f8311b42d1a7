/**
 * Every operation on every kind of store. The required outcomes of an operation are derived from its definition: each
 * status and error, each filter alone and in pairs, cursors of other lists, replays, conditions and scopes.
 */
import { afterAll, test } from 'bun:test';
import { walkAlike } from '../stress/walk/alike.ts';
import { replayedAfterExpiry } from '../stress/walk/request.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test('on every store, every operation returns each of its possible responses, as the model predicts', async () => {
  // Most seeds need 2,000 to 5,000 requests until the rarest outcome occurs.
  await walkAlike(servers, {
    seed: 5,
    crossesDays: false,
    steps: 500,
    mostSteps: 30_000,
    progress: () => {},
  });
});

test('on every store, a response that replaces an expired or pruned one is replayed with the same id', async () => {
  await walkAlike(servers, {
    // Other seeds need up to 1,000 requests.
    ...{ seed: 3, crossesDays: true, steps: 100, mostSteps: 5_000, progress: () => {} },
    isRequired: (way) => way === `createPet ${replayedAfterExpiry(201)}`,
  });
});
