/** How many units of work PostgreSQL is given in one transaction. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { openSession, openWriters } from './postgres-kit.ts';
import { newPet } from './samples.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('groups on PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('a group that takes long commits what it has done, and takes up the rest anew', async () => {
    const statementTimeoutMs = 4_000;
    const events: string[] = [];
    const slow = async ({ pets }: Transaction, name: string) => {
      events.push(`${name} begins`);
      const enoughAt = performance.now() + statementTimeoutMs / 8;
      while (performance.now() <= enoughAt) await pets.find(1n);
      await pets.add([newPet(name)]);
    };
    const units = { slow: { writes: ['pets'], run: slow } } as const satisfies Units;
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using opened = await openWriters(schema.url, units, 1, statementTimeoutMs);
    const [writer] = opened.writers;
    const done = (name: string) => writer?.write('slow', name).then(() => events.push(`${name} done`));
    await Promise.all(['one', 'two'].map(done));
    expect(events).toEqual(['one begins', 'one done', 'two begins', 'two done']);
    expect([...(await session`SELECT name FROM pets ORDER BY id`)]).toEqual([
      { name: 'one' },
      { name: 'two' },
    ]);
  });
});
