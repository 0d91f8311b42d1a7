/**
 * The cost of reads on PostgreSQL does not depend on the position of the page, the filters, or the size and contents of
 * the tables.
 */
import { afterAll, describe, test } from 'bun:test';
import type { SQL } from 'bun';
import { maxCountedPending } from '../../src/domain/delivery.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import type { Runner } from '../../src/storage/postgres/statements.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import { sqlName } from '../../src/tables/sql.ts';
import type { Table } from '../../src/tables/table.ts';
import { entities } from '../../src/tables/tables.ts';
import { testServers } from '../support/servers.ts';
import { openDatabase, openSession } from './postgres-kit.ts';
import { callsOf, common, type Finders, finds, limit, type Readers, reads, rows } from './reads.ts';
import { demand } from './schema.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/**
 * Maximum number of rows read for a page: `limit` + 1 for each of the five order statuses. For a custom plan, the
 * server also reads the first and last rows of indexes.
 */
const mostRows = 5 * (limit + 1) + 2 * 10;
/** Reads for metrics, which count rows only up to a maximum. */
const mostCounted: Readonly<Record<string, number>> = { 'deliveries.backlog()': 2 * maxCountedPending };

/** Tables that may be scanned, because they stay small and no request reads them. */
const small = new Set(['imports', 'operators', 'instances', 'inventory', 'counters', 'unnumbered_events']);

/** The first rows share a common value. Each remaining row has a distinct value. */
const either = (one: string, other: string) => `CASE WHEN id <= ${common} THEN ${one} ELSE ${other} END`;
const outcomes = 'ok, refused, limited, failed, last_used_at, deprecated';
const counts = `1, 1, 1, 1, 0, CASE WHEN id > ${rows - 10} THEN 1 ELSE 0 END`;

/** Contents of each table, with frequent values, because a filter by a frequent value must not scan the whole table. */
const contents: Readonly<Record<string, readonly [columns: string, values: string]>> = {
  pets: [
    'id, name, category_id, status',
    `id, 'animal', ${either('1', 'id')}, ${either("'sold'", "'available'")}`,
  ],
  orders: [
    'id, pet_id, status, created_at, updated_at',
    `id, ${either('1', 'id')}, ${either("'returned'", "'placed'")}, 0, 0`,
  ],
  accounts: [
    'id, name, name_folded, plan, created_at, closed_at',
    `id, 'account', ${either("'many'", "'name ' || id")}, 'free', 0, CASE WHEN id <= ${common} OR id = ${rows} THEN 1 END`,
  ],
  keys: [
    'id, account_id, name, fingerprint, last_four, created_at',
    `id, ${either('1', 'id')}, 'key', id, 'last', 0`,
  ],
  operators: ['id, name, role, fingerprint, last_four, created_at', "id, id, 'viewer', id, 'last', 0"],
  sessions: ['fingerprint, actor, role, used_at, expires_at', "id, 'actor', 'viewer', 0, 0"],
  audit: [
    'id, at, actor, operation, object',
    `id, id, ${either("'many'", "'actor ' || id")}, 'updateAccount', ${either("'many'", "'object ' || id")}`,
  ],
  events: ['id, type, data, created_at', "id, 'pet.created', '{}', id"],
  idempotent_answers: ['id, request, status, kept_at', "'1:' || id, 'request', 201, id"],
  usage_minutes: ['minute, operation, code, requests', "id, 'listPets', 'ok', 1"],
  usage_operation_hours: ['hour, operation, code, requests', "id, 'listPets', 'ok', 1"],
  latency_minutes: ['minute, bucket, requests', 'id, 1, 1'],
  latency_hours: ['hour, bucket, requests', 'id, 1, 1'],
  usage_key_operations: ['day, key_id, operation, requests', `id, ${either('1', 'id')}, 'listPets', 1`],
  usage_hours: [
    `hour, key_id, account_id, ${outcomes}`,
    `id * 3600000::bigint, ${either('1', 'id')}, ${either('1', 'id')}, ${counts}`,
  ],
  usage_days: [
    `day, key_id, account_id, ${outcomes}`,
    `id * 86400000::bigint, ${either('1', 'id')}, ${either('1', 'id')}, ${counts}`,
  ],
};

/** Contents of all other described tables. */
function contentOf({ columns, key }: Table): readonly [columns: string, values: string] {
  const filled = Object.entries(columns).map(([name, { type, values = [] }]) => {
    if (key.includes(name)) return [sqlName(name), 'id'] as const;
    if (values.length > 1) return [sqlName(name), either(`'${values[0]}'`, `'${values[1]}'`)] as const;
    return [
      sqlName(name),
      type === 'boolean'
        ? 'true'
        : either(type === 'text' ? "'many'" : '1', type === 'text' ? 'id::text' : 'id'),
    ] as const;
  });
  return [filled.map(([name]) => name).join(', '), filled.map(([, value]) => value).join(', ')];
}

async function fill(session: SQL): Promise<void> {
  const others = Object.values<Table>(entities as never).filter(
    ({ name }) => !(name in contents) && !small.has(name),
  );
  const all = { ...contents, ...Object.fromEntries(others.map((table) => [table.name, contentOf(table)])) };
  for (const [table, [columns, values]] of Object.entries(all)) {
    await session.unsafe(
      `INSERT INTO ${table} (${columns}) SELECT ${values} FROM generate_series(1, ${rows}) AS id`,
    );
  }
  await session`ANALYZE`;
}

interface Use {
  readonly table: string;
  readonly scans: bigint;
  readonly rows: bigint;
}

/** Lists the tables of the schema with their indexes, so that reading the statistics does not search the catalog each time. */
const listMeasured = `
  CREATE TEMPORARY TABLE measured AS
  SELECT relname AS "table", oid AS id, ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = oid) AS indexes
  FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'store'`;

/** Numbers of scans and rows read since the transaction began, as in pg_stat_xact_user_tables. */
async function usesIn(sql: SQL): Promise<Use[]> {
  return await sql`
    SELECT "table", pg_stat_get_xact_numscans(id) AS scans, pg_stat_get_xact_tuples_returned(id)
      + pg_stat_get_xact_tuples_fetched(id)
      + (SELECT coalesce(sum(pg_stat_get_xact_tuples_fetched(of)), 0) FROM unnest(indexes) AS of)::bigint AS rows
    FROM measured`;
}

/**
 * Returns a function that makes a read, and returns the numbers of scans and rows read, except in small tables, and the names
 * of all tables used.
 */
async function measureReads(sql: SQL) {
  let before = await usesIn(sql);
  return async (read: (runner: Runner) => unknown) => {
    await read({ run: async (statement) => statement(sql) });
    const after = await usesIn(sql);
    const used = after.map(({ table, scans, rows: count }, at) => {
      const { scans: earlier = 0n, rows: few = 0n } = before[at] ?? {};
      return { table, scans: Number(scans - earlier), rows: Number(count - few) };
    });
    before = after;
    const grown = used.filter(({ table }) => !small.has(table));
    return {
      scans: grown.reduce((sum, { scans }) => sum + scans, 0),
      rows: grown.reduce((sum, use) => sum + use.rows, 0),
      tables: used.filter(({ scans, rows: count }) => scans + count > 0).map(({ table }) => table),
    };
  };
}

/** Tables with too few rows for measurements. */
async function empty(session: SQL, tables: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for (const table of tables) {
    if (small.has(table)) continue;
    const [{ count }] = await session.unsafe(`SELECT count(*)::integer AS count FROM ${table}`);
    if (count < rows - common) found.push(table);
  }
  return found;
}

const calls = [
  ...callsOf<Readers>(reads).map(({ name, call }) => ({
    name,
    run: (runner: Runner) => call(createReads(runner) as unknown as Readers),
  })),
  ...callsOf<Finders>(finds).map(({ name, call }) => ({
    name: `transaction.${name}`,
    run: (runner: Runner) =>
      call(new PostgresTransaction(runner.run, new Map()).tables as unknown as Finders),
  })),
];

describe.skipIf(servers === undefined)('a PostgreSQL query', () => {
  test('reads no more rows than a page needs, with either a custom or a generic plan', async () => {
    // These tests are skipped if no servers are available.
    const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);
    await using schema = await makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    await using session = openSession(schema.url);
    await fill(session);
    await session.unsafe(listMeasured);
    const dear: string[] = [];
    const read = new Set<string>();
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await session.unsafe(`SET plan_cache_mode = ${mode}`);
      // The statistics of a transaction only grow, so each is read once between two calls.
      await session.begin(async (sql) => {
        const costOf = await measureReads(sql);
        for (const { name, run } of calls) {
          const { tables, ...cost } = await costOf(run);
          if (cost.scans > 0 || cost.rows > (mostCounted[name] ?? mostRows))
            dear.push(`${name} with ${mode}: ${JSON.stringify(cost)}`);
          for (const table of tables) read.add(table);
        }
      });
    }
    demand(
      'Fill the table in `contents`, so that its reads cost what they do when it is large:',
      await empty(session, read),
    );
    demand('Add an index that has the columns of the filter before those of the order:', dear);
  });
});
