/** The random walks of `npm run stress`, with small counts. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { walkAlike } from '../stress/walk/alike.ts';
import { walkOn } from '../stress/walk.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
/** Fewer clients go further in as many steps. */
const fewClients = 16;
const progress = () => undefined;

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** On the embedded store, which is quicker, until each operation was answered in all its ways. */
test.each([
  ['embedded', 2_000, true],
  ['cluster', 500, false],
] as const)(
  'all operations in any order are answered as a model says, by many clients at once (store: %s)',
  async (ground, rounds, meetsAll) => {
    const figures = await walkOn(ground, { rounds, seed, progress }, { clients: fewClients, meetsAll });
    // Told once, when the servers were looked for.
    if (figures !== undefined)
      expect(figures['of these about what others changed, too']).toBeGreaterThan(100);
  },
);

test.skipIf(servers === undefined)(
  'all operations in any order are answered alike by both stores',
  async () => {
    // Skipped without them.
    const compared = await walkAlike(servers as NonNullable<typeof servers>, { steps: 250, seed, progress });
    expect(compared).toBe(250);
  },
);
