/** Instances that change the shop at once, on PostgreSQL: what one reads and decides, the others do not change meanwhile. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import type { KeptAnswer, Transaction, Units } from '../../src/storage/transaction.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { openSession, openWriters } from './postgres-kit.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const now = 1_800_000_000_000;

function answerFor(accountId: number, key: string): KeptAnswer {
  return { accountId, key, request: 'r', status: 201, body: '{}', location: null, keptAt: now };
}

const both = {
  both: { writes: ['pets', 'orders', 'categories', 'callers'], run: () => undefined },
} as const satisfies Units;

/** Whether somebody waits for a resource. */
async function isWaiting(session: SQL): Promise<boolean> {
  const rows = await session`
    SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE OF counters%'`;
  return rows.length > 0;
}

describe.skipIf(servers === undefined)('the shop on PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('what a unit reads of what it writes stays as it is until its commit, at every instance', async () => {
    const read = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const events: string[] = [];
    const own = {
      look: {
        writes: ['categories'],
        run: async ({ categories }: Transaction) => {
          const before = await categories.find(1n);
          read.resolve();
          await goOn.promise;
          const after = await categories.find(1n);
          events.push('looked');
          return [before?.name, after?.name];
        },
      },
      put: {
        writes: ['categories'],
        run: async ({ categories }: Transaction, name: string) => {
          await categories.put({ id: 1n, name });
          events.push(`put ${name}`);
        },
      },
    } as const satisfies Units;
    await using schema = await makeSchema();
    await using instances = await openWriters(schema.url, own, 2);
    await using session = openSession(schema.url);
    const [first, second] = instances.writers;
    await first?.write('put', 'Dogs');
    const looking = first?.write('look', undefined as never);
    await read.promise;
    const putting = second?.write('put', 'Cats');
    // The other instance waits for the lock.
    await until(() => isWaiting(session));
    goOn.resolve();
    expect(await looking).toEqual(['Dogs', 'Dogs']);
    await putting;
    expect(events).toEqual(['put Dogs', 'looked', 'put Cats']);
  });

  test('who waits for one resource holds none that comes later in the order', async () => {
    await using schema = await makeSchema();
    await using instances = await openWriters(schema.url, both, 1);
    await using session = openSession(schema.url);
    await using observer = openSession(schema.url);
    await session`BEGIN`;
    await session`SELECT FROM counters WHERE name = 'categories' FOR UPDATE`;
    const writing = writerOf(instances).write('both', undefined as never);
    await until(() => isWaiting(observer));
    await observer`SELECT FROM counters WHERE name <> 'categories' FOR UPDATE NOWAIT`;
    await session`COMMIT`;
    await writing;
  });

  test('what another instance is about to keep is waited for; another store keeps it for itself', async () => {
    const found = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const key = { accountId: 1, key: 'key' };
    const own = {
      slowly: {
        writes: ['pets'],
        run: async ({ answers }: Transaction) => {
          await answers.find([key], 0);
          found.resolve();
          await goOn.promise;
          await answers.keep([answerFor(1, 'key')], 0);
        },
      },
      find: { writes: ['pets'], run: ({ answers }: Transaction) => answers.find([key], 0) },
    } as const satisfies Units;
    await using schema = await makeSchema();
    await using elsewhere = await makeSchema();
    await using instances = await openWriters(schema.url, own, 2);
    await using others = await openWriters(elsewhere.url, own, 1);
    const [first, second] = instances.writers;
    const slow = first?.write('slowly', undefined as never);
    await found.promise;
    const waiting = second?.write('find', undefined as never);
    expect(await others.writers[0]?.write('find', undefined as never)).toEqual([undefined]);
    goOn.resolve();
    await slow;
    expect(await waiting).toEqual([answerFor(1, 'key')]);
  });
});

function writerOf<Writer>({ writers }: { readonly writers: readonly Writer[] }): Writer {
  const [writer] = writers;
  if (writer === undefined) throw new Error('There is no writer.');
  return writer;
}
