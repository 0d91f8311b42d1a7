import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { compareAnswers } from './same-answers.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test.skipIf(servers === undefined)(
  'the service answers alike on both stores: status, headers and body',
  async () => {
    // Skipped without them.
    const compared = await compareAnswers(servers as NonNullable<typeof servers>, 40, 20_301_205);
    expect(compared).toBeGreaterThan(300);
  },
);
