import { afterAll, describe } from 'bun:test';
import { type TestServers, testServers } from './servers.ts';

/** Groups tests that need database servers. They are skipped if no servers are available. */
export async function describeWithServers(
  name: string,
  tests: (servers: TestServers) => void,
): Promise<void> {
  const servers = await testServers();
  afterAll(() => servers?.[Symbol.asyncDispose]());
  describe.skipIf(servers === undefined)(name, () => tests(servers ?? ({} as TestServers)));
}
