/** Pages of PostgreSQL cost alike, whatever is filtered, however deep they are, and whatever the table is filled with. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { SQL } from 'bun';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { PostgresCategories } from '../../src/storage/postgres/categories.ts';
import { PostgresOrders } from '../../src/storage/postgres/orders.ts';
import { PostgresPets } from '../../src/storage/postgres/pets.ts';
import type { Reader } from '../../src/storage/postgres/statements.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { openDatabase, openSession } from './postgres-kit.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const rows = 30_000;
const limit = 21;
/** A page may merge as many ranges as there are statuses of orders, and look one row beyond each; or look up as many ids. */
const mostRows = 5 * (limit + 1);

/**
 * What is common is at the beginning, and there is nothing else of it: who walks the ids for it, for it is common, walks
 * all the others.
 */
async function fill(session: SQL): Promise<void> {
  await session.unsafe(`
    INSERT INTO pets (id, name, category_id, status)
    SELECT id, 'animal', CASE WHEN id <= 20000 THEN 1 ELSE id END, CASE WHEN id <= 20000 THEN 'sold' ELSE 'available' END
    FROM generate_series(1, ${rows}) AS id;
    INSERT INTO orders (id, pet_id, status, created_at, updated_at)
    SELECT id, CASE WHEN id <= 20000 THEN 1 ELSE id END, CASE WHEN id <= 20000 THEN 'returned' ELSE 'placed' END, 0, 0
    FROM generate_series(1, ${rows}) AS id;
    INSERT INTO categories (id, name) SELECT id - 15000, 'category' FROM generate_series(1, ${rows}) AS id;
    ANALYZE pets, orders, categories`);
}

/** Runs a read in a transaction of its own; how many tables were scanned, and how many rows were read. */
async function costOf(session: SQL, read: (reader: Reader) => Promise<unknown>) {
  return session.begin(async (sql) => {
    const before = await statistics(sql);
    await read({ read: async (statement) => statement(sql) });
    const after = await statistics(sql);
    return { scans: after.scans - before.scans, rows: after.rows - before.rows };
  });
}

async function statistics(sql: SQL): Promise<{ scans: number; rows: number }> {
  const [row] = await sql<{ scans: bigint; rows: bigint }[]>`
    SELECT sum(seq_scan)::bigint AS scans, sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::bigint AS rows
    FROM pg_stat_xact_user_tables
    WHERE schemaname = current_schema() AND relname IN ('pets', 'orders', 'categories', 'idempotent_answers')`;
  return { scans: Number(row?.scans), rows: Number(row?.rows) };
}

const afters = [0n, 10_000n, 19_990n, 20_000n, 29_990n];
const values = [undefined, 1n, 25_000n];

describe.skipIf(servers === undefined)('pages of PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  async function expectFlat(reads: Readonly<Record<string, (reader: Reader) => Promise<unknown>>>) {
    await using schema = await makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    await using session = openSession(schema.url);
    await fill(session);
    const dear: string[] = [];
    for (const [name, read] of Object.entries(reads)) {
      // From the sixth time on the server may plan for any values.
      for (let time = 0; time < 7; time++) {
        const cost = await costOf(session, read);
        if (cost.scans > 0 || cost.rows > mostRows) dear.push(`${name}: ${JSON.stringify(cost)}`);
      }
    }
    expect(dear).toEqual([]);
  }

  test('of animals', async () => {
    const reads: Record<string, (reader: Reader) => Promise<unknown>> = {};
    const ids = Array.from({ length: 100 }, (_, index) => BigInt(index * 299 + 1));
    for (const after of afters) {
      for (const status of [undefined, ...petStatuses]) {
        for (const categoryId of values) {
          for (const named of [undefined, ids]) {
            const filter = { status, categoryId, ids: named };
            const name = `after ${after}, ${status}, category ${categoryId}, ${named === undefined ? 'any' : 'named'}`;
            reads[name] = (reader) => new PostgresPets(reader).list(after, limit, filter);
          }
        }
      }
    }
    await expectFlat(reads);
  });

  test('of orders', async () => {
    const reads: Record<string, (reader: Reader) => Promise<unknown>> = {};
    for (const after of afters) {
      for (const status of [undefined, 'returned', 'placed', 'delivered'] as const) {
        for (const petId of values) {
          reads[`after ${after}, ${status}, animal ${petId}`] = (reader) =>
            new PostgresOrders(reader).list(after, limit, { status, petId });
        }
      }
    }
    await expectFlat(reads);
  });

  test('of categories, and of what is found by its id', async () => {
    const transaction = (reader: Reader) =>
      new PostgresTransaction((statement) => reader.read(statement), new Map());
    await expectFlat({
      'the first categories': (reader) => new PostgresCategories(reader).list(undefined, limit),
      'later categories': (reader) => new PostgresCategories(reader).list(14_000n, limit),
      category: (reader) => new PostgresCategories(reader).find(7n),
      pet: (reader) => new PostgresPets(reader).find(7n),
      order: (reader) => new PostgresOrders(reader).find(7n),
      'open order': (reader) => transaction(reader).orders.findOpen(25_000n),
      'kept answer': (reader) => transaction(reader).answers.find(1, 'key', 0),
    });
  });
});
