/** Pages of PostgreSQL cost alike, whatever is filtered, however deep they are, and whatever the table is filled with. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { SQL } from 'bun';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { PostgresAccounts } from '../../src/storage/postgres/accounts.ts';
import { PostgresAudit } from '../../src/storage/postgres/audit.ts';
import { PostgresCategories } from '../../src/storage/postgres/categories.ts';
import { PostgresKeys } from '../../src/storage/postgres/keys.ts';
import { PostgresOperators } from '../../src/storage/postgres/operators.ts';
import { PostgresOrders } from '../../src/storage/postgres/orders.ts';
import { PostgresPets } from '../../src/storage/postgres/pets.ts';
import { PostgresSessions } from '../../src/storage/postgres/sessions.ts';
import type { Reader } from '../../src/storage/postgres/statements.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import { PostgresUsage } from '../../src/storage/postgres/usage.ts';
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

/** As above: of the first 20,000 all are alike, and each of the others is another one. */
async function fillForOperators(session: SQL): Promise<void> {
  await session.unsafe(`
    INSERT INTO accounts (id, name, name_folded, plan, created_at, closed_at)
    SELECT id, 'account', CASE WHEN id <= 20000 THEN 'many' ELSE 'name ' || id END, 'free', 0,
           CASE WHEN id <= 20000 OR id > 29999 THEN 1 END
    FROM generate_series(1, ${rows}) AS id;
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at)
    SELECT id, CASE WHEN id <= 20000 THEN 1 ELSE id END, 'key', id, 'last', 0 FROM generate_series(1, ${rows}) AS id;
    INSERT INTO operators (id, name, role, fingerprint, last_four, created_at)
    SELECT id, id, 'viewer', id, 'last', 0 FROM generate_series(1, ${rows}) AS id;
    INSERT INTO sessions (fingerprint, actor, role, used_at, expires_at)
    SELECT id, 'actor', 'viewer', 0, 0 FROM generate_series(1, ${rows}) AS id;
    INSERT INTO audit (id, at, actor, operation, object)
    SELECT id, id, CASE WHEN id <= 20000 THEN 'many' ELSE 'actor ' || id END, 'updateAccount',
           CASE WHEN id <= 20000 THEN 'many' ELSE 'object ' || id END
    FROM generate_series(1, ${rows}) AS id;
    INSERT INTO usage_minutes (minute, operation, code, requests)
    SELECT id, 'listPets', 'ok', 1 FROM generate_series(1, ${rows}) AS id;
    INSERT INTO usage_hours (hour, key_id, account_id, ok, refused, limited, failed, deprecated, last_used_at)
    SELECT id * 3600000::bigint, CASE WHEN id <= 20000 THEN 1 ELSE id END, CASE WHEN id <= 20000 THEN 1 ELSE id END, 1, 1, 1, 1, 0, 0
    FROM generate_series(1, ${rows}) AS id;
    INSERT INTO usage_days (day, key_id, account_id, ok, refused, limited, failed, deprecated, last_used_at)
    SELECT id * 86400000::bigint, CASE WHEN id <= 20000 THEN 1 ELSE id END, CASE WHEN id <= 20000 THEN 1 ELSE id END, 1, 1, 1, 1,
           CASE WHEN id > 29990 THEN 1 ELSE 0 END, 0
    FROM generate_series(1, ${rows}) AS id;
    ANALYZE accounts, keys, operators, sessions, audit, usage_minutes, usage_hours, usage_days`);
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
    WHERE schemaname = current_schema() AND relname <> 'store'`;
  return { scans: Number(row?.scans), rows: Number(row?.rows) };
}

const afters = [0n, 10_000n, 19_990n, 20_000n, 29_990n];
const values = [undefined, 1n, 25_000n];

describe.skipIf(servers === undefined)('pages of PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  const sessions = new Map<typeof fill, Promise<SQL>>();

  /** A session of a store that is filled so: once, for these tests only read. */
  function filled(fillIt: typeof fill): Promise<SQL> {
    const made = sessions.get(fillIt) ?? make(fillIt);
    sessions.set(fillIt, made);
    return made;
  }

  async function make(fillIt: typeof fill): Promise<SQL> {
    const schema = opened.use(await makeSchema());
    await using database = openDatabase(schema.url);
    await database.migrate();
    const session = opened.use(openSession(schema.url));
    await fillIt(session);
    return session;
  }

  async function expectFlat(
    reads: Readonly<Record<string, (reader: Reader) => Promise<unknown>>>,
    fillIt = fill,
  ) {
    const session = await filled(fillIt);
    const dear: string[] = [];
    for (const [name, read] of Object.entries(reads)) {
      // From the sixth time on the server may plan for any values.
      for (let time = 1; time <= 6; time++) {
        if (time > 1 && time < 6) await read({ read: async (statement) => statement(session) });
        else {
          const cost = await costOf(session, read);
          if (cost.scans > 0 || cost.rows > mostRows) dear.push(`${name}: ${JSON.stringify(cost)}`);
        }
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
      'kept answer': (reader) => transaction(reader).answers.find([{ accountId: 1, key: 'key' }], 0),
    });
  });

  test('of accounts and keys', async () => {
    const reads: Record<string, (reader: Reader) => Promise<unknown>> = {};
    for (const after of afters.map(Number)) {
      for (const isClosed of [undefined, false, true]) {
        reads[`accounts after ${after}, closed ${isClosed}`] = (reader) =>
          new PostgresAccounts(reader).list({ id: after, name: '' }, limit, { isClosed });
        for (const name of ['m', 'MANY', 'name 2', 'name 29999']) {
          const filter = { name, isClosed };
          reads[`accounts after ${after}, ${name}, closed ${isClosed}`] = (reader) =>
            new PostgresAccounts(reader).list(
              { id: after, name: after < 20_000 ? 'Many' : name },
              limit,
              filter,
            );
        }
      }
      for (const accountId of [undefined, 1, 25_000]) {
        reads[`keys after ${after}, account ${accountId}`] = (reader) =>
          new PostgresKeys(reader).list(after, limit, accountId);
      }
    }
    reads['accounts by name'] = (reader) =>
      new PostgresAccounts(reader).list(undefined, limit, { name: 'n' });
    const ids = Array.from({ length: 100 }, (_, index) => index * 299 + 1);
    reads['accounts by ids'] = (reader) => new PostgresAccounts(reader).findMany(ids);
    reads['keys by ids'] = (reader) => new PostgresKeys(reader).findMany(ids);
    reads.caller = (reader) => new PostgresKeys(reader).findCaller('25000');
    await expectFlat(reads, fillForOperators);
  });

  test('of the audit log, and who is signed in', async () => {
    const reads: Record<string, (reader: Reader) => Promise<unknown>> = {};
    for (const before of [undefined, 30_000n, 20_001n, 10n]) {
      for (const actor of [undefined, 'many', 'actor 25000']) {
        for (const object of [undefined, 'many', 'object 25000']) {
          for (const [since, until] of [[], [10_000], [undefined, 10_000], [9_990, 10_000]]) {
            const filter = { actor, object, since, until };
            reads[`before ${before}, ${JSON.stringify(filter)}`] = (reader) =>
              new PostgresAudit(reader).list(before, limit, filter);
          }
        }
      }
    }
    reads['operator by token'] = (reader) => new PostgresOperators(reader).findByToken('25000');
    reads.session = (reader) => new PostgresSessions(reader).find('25000');
    await expectFlat(reads, fillForOperators);
  });

  test('of usage: no more is read than is told, or added up', async () => {
    const hour = 3_600_000;
    const day = 24 * hour;
    const usage = (reader: Reader) => new PostgresUsage(reader);
    const reads: Record<string, (reader: Reader) => Promise<unknown>> = {
      minutes: (reader) => usage(reader).minutes({ since: 29_000, until: 29_060 }),
      'top keys of a day': (reader) =>
        usage(reader).topKeys('all', { since: 29_000 * day, until: 29_060 * day }, 10),
      'deprecated callers': (reader) =>
        usage(reader).topKeys('deprecated', { since: 0, until: 30_001 * day }, 10),
      'last uses': (reader) => usage(reader).lastUses([1, 25_000, 40_000], 19_990 * day),
    };
    for (const id of [1, 25_000]) {
      for (const since of [0, 19_950, 24_999]) {
        const until = since + 60;
        for (const owner of [{ keyId: id }, { accountId: id }]) {
          reads[`hours of ${JSON.stringify(owner)} since ${since}`] = (reader) =>
            usage(reader).periods(owner, 'hour', { since: since * hour, until: until * hour });
          reads[`days of ${JSON.stringify(owner)} since ${since}`] = (reader) =>
            usage(reader).periods(owner, 'day', { since: since * day, until: until * day });
        }
      }
    }
    await expectFlat(reads, fillForOperators);
  });
});
