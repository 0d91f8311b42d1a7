/** Groups of units on PostgreSQL, and concurrent usage reports of several instances. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import type { SQL } from 'bun';
import type { PetStatus } from '../../src/contract/pets.ts';
import { resolveQuota } from '../../src/domain/plan.ts';
import { units } from '../../src/operations/units.ts';
import type { UsageReport } from '../../src/storage/admin.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { lockAwaited, openDatabase, openSession, openWriters } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { testServers } from '../support/servers.ts';
import { newReport } from '../support/usage.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** Number of server processes that wait for a resource's lock. */
async function waitingForCounters(session: SQL): Promise<number> {
  const rows: unknown[] = await session`
    SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE OF counters%'`;
  return rows.length;
}

describe.skipIf(servers === undefined)('groups of units of work on PostgreSQL', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('a slow group commits the units that have run, and leaves the others to the next group', async () => {
    const statementTimeoutMs = 60_000;
    const events: string[] = [];
    let aheadMs = 0;
    const real = performance.now.bind(performance);
    using _time = spyOn(performance, 'now').mockImplementation(() => real() + aheadMs);
    const slow = async ({ pets }: Transaction, name: string) => {
      events.push(`${name} begins`);
      aheadMs += statementTimeoutMs / 8;
      await pets.add([newPet(name)]);
    };
    const units = { slow: { writes: ['pets', 'callers'], run: slow } } as const satisfies Units;
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

  test('after a statement is rejected, no unit in the group reports a change that was not stored', async () => {
    const add = ({ pets }: Transaction, name: string) => pets.add([newPet(name)]);
    const leaveBehind = async ({ pets }: Transaction) => {
      void Promise.resolve(pets.add([newPet('lost', 'lost' as PetStatus)])).catch(() => undefined);
    };
    const units = {
      add: { writes: ['pets', 'callers'], run: add },
      leaveBehind: { writes: ['pets', 'callers'], run: leaveBehind },
    } as const satisfies Units;
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using opened = await openWriters(schema.url, units, 1);
    const write = (unit: keyof typeof units, name: string) => opened.writers[0]?.write(unit, name as never);
    const names = ['one', 'two'];
    const settled = await Promise.allSettled([
      ...names.map((name) => write('add', name)),
      write('leaveBehind', ''),
    ]);
    const acknowledged = names.filter((_, index) => settled[index]?.status === 'fulfilled');
    const stored: { name: string }[] = await session`SELECT name FROM pets ORDER BY id`;
    expect(stored.map(({ name }) => name)).toEqual(acknowledged);
    await write('add', 'later');
  });

  test('a transaction that waits for the lock on one resource holds no lock that comes later in the lock order', async () => {
    const both = { writes: ['pets', 'orders', 'categories', 'callers'], run: () => undefined } as const;
    await using schema = await makeSchema();
    await using opened = await openWriters(schema.url, { both }, 1);
    await using session = openSession(schema.url);
    await using observer = openSession(schema.url);
    await session`BEGIN`;
    await session`SELECT FROM counters WHERE name = 'categories' FOR UPDATE`;
    const writing = opened.writers[0]?.write('both', undefined as never);
    await until(async () => (await waitingForCounters(observer)) > 0);
    await observer`SELECT FROM counters WHERE name <> 'categories' FOR UPDATE NOWAIT`;
    await session`COMMIT`;
    await writing;
  });
});

const hourMs = 3_600_000;
const keys = 300;
const rounds = 8;
const reporters = 3;

/** A usage report for every key, in an order that depends on the reporter. */
function reportOf(reporter: number, round: number): UsageReport {
  const first = (reporter * 167 + round * 31) % keys;
  const step = [1, keys - 1, 7][reporter] ?? 1;
  const ids = Array.from({ length: keys }, (_, index) => ((first + index * step) % keys) + 1);
  const counts = { ok: 1, refused: 2, limited: 3, failed: 4, deprecated: 5 };
  const operations = [{ operation: 'listPets', requests: 15 }];
  return {
    minutes: ids.map((id) => ({ minute: 60_000 * id, operation: 'listPets', code: 'ok', requests: 1 })),
    keys: ids.map((keyId) => ({
      keyId,
      accountId: 1,
      hour: hourMs,
      lastUsedAt: hourMs + round,
      operations,
      ...counts,
    })),
    latencies: ids.map((bucket) => ({ minute: 60_000, bucket, requests: 1 })),
    number: newReport(round),
    instance: { name: 'shared', version: '1', startedAt: 0, seenAt: round },
  };
}

describe.skipIf(servers === undefined)('usage reports on PostgreSQL', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('from several instances are summed concurrently without a deadlock', async () => {
    await using schema = await makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    // Does not retry after a deadlock.
    const report = async (session: SQL, reporter: number) => {
      for (let round = 0; round < rounds; round++) {
        await session.begin(async (sql) => {
          const transaction = new PostgresTransaction(async (statement) => statement(sql), new Map());
          await transaction.tables.usage.add(reportOf(reporter, round));
        });
      }
    };
    await using sessions = new AsyncDisposableStack();
    const reports = Array.from({ length: reporters }, (_, reporter) => {
      return report(sessions.use(openSession(schema.url)), reporter);
    });
    await Promise.all(reports);

    const usage = createReads({ run: (statement) => database.read(statement) }).usage;
    const day = { since: 0, until: 24 * hourMs };
    const all = reporters * rounds;
    const [period] = await usage.periods({ accountId: 1 }, 'hour', day);
    expect(period).toEqual({
      from: hourMs,
      ok: all * keys,
      refused: 2 * all * keys,
      limited: 3 * all * keys,
      failed: 4 * all * keys,
    });
    const minutes = await usage.minutes(day);
    expect(minutes.map(({ requests }) => requests)).toEqual(Array(keys).fill(all));
    const uses = await usage.lastUses([1, keys, keys + 1], 0);
    expect(uses).toEqual(
      [1, keys].map((keyId) => ({ keyId, lastUsedAt: hourMs + rounds - 1, requests: 10 * all })),
    );
  });

  test('that are sent again wait for the commit of the first attempt', async () => {
    await using schema = await makeSchema();
    await using instances = await openWriters(schema.url, units, 1);
    await using session = openSession(schema.url);
    await using observer = openSession(schema.url);
    const report = reportOf(0, 0);
    const reported = await session.begin(async (sql) => {
      const { tables } = new PostgresTransaction(async (statement) => statement(sql), new Map());
      await units.recordUsage.run(tables, report);
      const again = instances.writers[0]?.write('recordUsage', report);
      await lockAwaited(observer);
      return { again };
    });
    await reported.again;
    const [{ sum }] = await session`SELECT sum(ok)::int AS sum FROM usage_hours`;
    expect(sum).toBe(keys);
  });

  test('do not delay changes by clients', async () => {
    await using schema = await makeSchema();
    await using instances = await openWriters(schema.url, units, 1);
    const [writer] = instances.writers;
    await writer?.write('recordUsage', reportOf(0, 0));
    await using session = openSession(schema.url);
    await session`BEGIN`;
    await session`SELECT FROM usage_hours FOR UPDATE`;
    const reported = writer?.write('recordUsage', reportOf(0, 1));
    await writer?.write('createAccount', { name: 'a', ...resolveQuota('free'), createdAt: 0 });
    await session`COMMIT`;
    await reported;
  });
});
