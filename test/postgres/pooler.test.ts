/** The store behind PgBouncer in transaction mode, which assigns any server session to a transaction. */
import { afterAll, describe, expect, test } from 'bun:test';
import { totalAnimals } from '../../src/contract/pets.ts';
import { units } from '../../src/operations/units.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import {
  expectReadCommitted,
  lockAwaited,
  lockers,
  openDatabase,
  openSession,
  outcomeOf,
  untilDone,
  writeStoreOf11,
} from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import {
  ownPgBouncer,
  type PgBouncerOptions,
  pgBouncerProgram,
  throughPgBouncer,
} from '../support/pgbouncer.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** The service has more connections than PgBouncer has sessions on the server. */
const poolSize = 4;
const sessions = 2;

const ignored = 'statement_timeout, idle_in_transaction_session_timeout, animal_store.session, search_path';

describe.skipIf(servers === undefined || pgBouncerProgram() === undefined)('behind PgBouncer', () => {
  // These tests are skipped if no servers are available.
  const { makeDatabase } = servers ?? ({} as NonNullable<typeof servers>);

  /** A PgBouncer in front of an empty database, the URL through it, and a direct session. */
  async function startBouncer({ settings, ...others }: PgBouncerOptions = {}) {
    await using made = new AsyncDisposableStack();
    const { url: directUrl } = made.use(await makeDatabase());
    const pools = { default_pool_size: sessions, ...settings };
    const bouncer = await ownPgBouncer(directUrl, { settings: pools, ...others });
    if (bouncer === undefined) throw new Error('PgBouncer is missing.');
    made.use(bouncer);
    const direct = made.use(openSession(directUrl));
    const kept = made.move();
    return {
      url: throughPgBouncer(bouncer, directUrl),
      direct,
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  /** A store behind PgBouncer. */
  async function openStore(statementTimeoutMs: number, options?: PgBouncerOptions) {
    await using made = new AsyncDisposableStack();
    const bouncer = made.use(await startBouncer(options));
    const notices: string[] = [];
    const notice = (text: string) => void notices.push(text);
    const database = made.use(
      new PostgresDatabase({ url: bouncer.url, poolSize, statementTimeoutMs, notice }),
    );
    await database.migrate();
    const { pets } = createReads({ run: (statement) => database.read(statement) });
    const writer = new PostgresWriter(database, units, async () => {}, { secret: 'c2VjcmV0' });
    made.defer(() => writer.idle());
    const add = (name: string) => writer.write('createPet', { now: 0, body: newPet(name) });
    await untilDone(() => add('first'));
    const kept = made.move();
    return { ...bouncer, database, pets, add, notices, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test('transactions have the isolation level that the service needs, whatever the default of the database', async () => {
    await using bouncer = await startBouncer();
    const [{ name }] = await bouncer.direct`SELECT current_database() AS name`;
    await bouncer.direct.unsafe(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
    await using database = openDatabase(bouncer.url);
    await expectReadCommitted(database);
  });

  for (const [name, settings] of [
    ['rejects', {}],
    ['ignores', { ignore_startup_parameters: ignored }],
  ] as const) {
    test(`if the pooler ${name} startup parameters, instances migrate the database once and store every acknowledged change`, async () => {
      await using bouncer = await startBouncer({ settings });
      await using all = new AsyncDisposableStack();
      const open = () => {
        const { url } = bouncer;
        return all.use(new PostgresDatabase({ url, poolSize, statementTimeoutMs: 60_000, notice: () => {} }));
      };
      const databases = Array.from({ length: 4 }, open);
      await Promise.all(databases.map((database) => database.migrate()));
      const adding = databases.map(async (database, number) => {
        const secret = `c2VjcmV${number}`;
        const writer = new PostgresWriter(database, units, async () => {}, { secret });
        const { pets } = createReads({ run: (statement) => database.read(statement) });
        for (let added = 0; added < 50; added++) {
          await Promise.all([
            writer.write('createPet', { now: 0, body: newPet('a') }),
            pets.list(undefined, 10),
          ]);
        }
        return totalAnimals(await pets.inventory());
      });
      const totals = await Promise.all(adding);
      expect(Math.max(...totals)).toBe(200);
      const prepared = await bouncer.direct`
        SELECT count(*) AS sessions FROM pg_stat_activity
        WHERE application_name = 'animal-store' AND datname = current_database()`;
      expect(Number(prepared[0].sessions)).toBeLessThanOrEqual(sessions);
    });
  }

  test('instances that migrate a store at the same time through a single session build its indexes', async () => {
    await using bouncer = await startBouncer({ settings: { default_pool_size: 1 } });
    await writeStoreOf11(bouncer.direct);
    await using one = openDatabase(bouncer.url, 60_000);
    await using other = openDatabase(bouncer.url, 60_000);
    await Promise.all([one.migrate(), other.migrate()]);
    const [{ invalid }] = await bouncer.direct`SELECT count(*) AS invalid FROM pg_index WHERE NOT indisvalid`;
    expect(invalid).toBe(0n);
  });

  test('a migration whose index takes longer than the statement timeout of the sessions names the remedy', async () => {
    await using bouncer = await startBouncer({ connectQuery: 'SET statement_timeout = 500' });
    await writeStoreOf11(bouncer.direct);
    // The build waits for this transaction.
    await bouncer.direct.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM accounts').simple();
    await using database = openDatabase(bouncer.url, 500);
    expect(String(await rejectionOf(database.migrate()))).toContain(
      'Run "animal-store migrate" with a DATABASE_URL that connects to PostgreSQL directly.',
    );
    await bouncer.direct`COMMIT`;
  });

  /** If the service's parameters are not set in PgBouncer's sessions, each transaction sets them. */
  const sessionKinds = {
    'without parameters': () => ({}),
    "with the service's parameters": (ms: number) => ({
      connectQuery: `SET statement_timeout = ${ms}; SET idle_in_transaction_session_timeout = ${ms}; SET jit = off`,
      // Waiting for a session does not shorten the time allowed for a statement.
      settings: { default_pool_size: poolSize },
    }),
  };

  for (const [kind, optionsFor] of Object.entries(sessionKinds)) {
    describe(`and sessions ${kind}`, () => {
      test('reads blocked by a lock are rejected at their deadline and canceled on the server, and no outage is reported', async () => {
        const timeoutMs = 4_000;
        await using store = await openStore(timeoutMs, optionsFor(timeoutMs));
        const { database, pets, direct, notices } = store;
        await direct`BEGIN`;
        await direct`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
        const readers = Array.from({ length: 100 }, () => outcomeOf(pets.list(0n, 10)));
        await lockAwaited(direct);
        expect(new Set(await Promise.all(readers))).toEqual(new Set(['unavailable']));
        await until(async () => (await lockers(direct, 'waiting')).length === 0);
        expect([database.trouble, notices]).toEqual([undefined, []]);
        await direct`COMMIT`;
        await untilDone(() => pets.list(0n, 10));
      });

      test('writes blocked by a lock are rejected at their deadline and change nothing', async () => {
        const timeoutMs = 4_000;
        await using store = await openStore(timeoutMs, optionsFor(timeoutMs));
        const { pets, add, direct, notices } = store;
        await direct`BEGIN`;
        await direct`SELECT * FROM counters FOR UPDATE`;
        const writes = Array.from({ length: 100 }, (_, index) => outcomeOf(add(`${index}`)));
        await lockAwaited(direct);
        expect(new Set(await Promise.all(writes))).toEqual(new Set(['unavailable']));
        await until(async () => (await lockers(direct, 'waiting')).length === 0);
        await direct`COMMIT`;
        await untilDone(() => pets.list(0n, 1));
        expect(totalAnimals(await pets.inventory())).toBe(1);
        expect(notices).toEqual([]);
      });

      test('the timeouts apply to each transaction, statements are not JIT-compiled, and the server ends abandoned transactions', async () => {
        const timeoutMs = 1_000;
        await using store = await openStore(timeoutMs, optionsFor(timeoutMs));
        const { database, direct } = store;
        const locked = Promise.withResolvers<void>();
        let parameters: unknown;
        const left = database.transact(async (execute) => {
          [parameters] = await execute<unknown[]>(
            (sql) => sql`
              SELECT current_setting('statement_timeout') AS statement,
                     current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('jit') AS jit`,
          );
          await execute((sql) => sql`SELECT * FROM counters FOR UPDATE`);
          locked.resolve();
          return new Promise<never>(() => {});
        }, Number.POSITIVE_INFINITY);
        void left.catch(() => undefined);
        await Promise.race([locked.promise, left]);
        expect(parameters).toEqual({ statement: '1s', idle: '1s', jit: 'off' });
        // Waits until the server has ended the abandoned transaction.
        await direct`SELECT * FROM counters FOR UPDATE`;
      });
    });
  }

  test('the timeouts do not affect other clients that use the same session', async () => {
    await using store = await openStore(20_000);
    const { database, url } = store;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        database.transact(
          (execute) => execute((sql) => sql`SELECT pg_sleep(0.01)`),
          Number.POSITIVE_INFINITY,
        ),
      ),
    );
    const others = Array.from({ length: sessions }, () => openSession(url));
    const shown = others.map((other) =>
      other.unsafe('SHOW statement_timeout; SELECT pg_sleep(0.2)').simple(),
    );
    for (const [timeout] of await Promise.all(shown))
      expect([...timeout]).toEqual([{ statement_timeout: '0' }]);
    await Promise.all(others.map((other) => other.close()));
  });

  test('a connection limit below the maximum pool size is reported, and the remaining connections are used', async () => {
    await using store = await openStore(10_000, { settings: { max_client_conn: poolSize - 1 } });
    const { database, pets, notices } = store;
    const read = () =>
      Promise.all(Array.from({ length: 50 }, () => database.write((sql) => sql`SELECT pg_sleep(0.01)`)));
    await until(async () => {
      await read();
      return database.trouble !== undefined;
    });
    expect(database.trouble).toContain('no more connections allowed');
    expect(database.poolFacts.connections).toBeLessThan(poolSize);
    await read();
    await pets.list(0n, 1);
    expect(notices).toEqual([expect.stringContaining('no more connections allowed')]);
  });

  for (const settings of [{}, { ignore_startup_parameters: ignored }]) {
    const name = 'ignore_startup_parameters' in settings ? 'ignores' : 'rejects';
    test(`if the pooler ${name} the schema in the URL, migration fails unless the sessions already use that schema`, async () => {
      const schema = 'shop';
      const open = (url: string) => {
        const here = new URL(url);
        here.searchParams.set('search_path', schema);
        return new PostgresDatabase({
          url: here.href,
          poolSize,
          statementTimeoutMs: 10_000,
          notice: () => {},
        });
      };
      await using without = await startBouncer({ settings });
      await using refused = open(without.url);
      expect(String(await rejectionOf(refused.migrate()))).toContain('does not pass on search_path');
      await using bouncer = await startBouncer({ settings, connectQuery: `SET search_path = ${schema}` });
      await bouncer.direct.unsafe(`CREATE SCHEMA ${schema}`);
      await using database = open(bouncer.url);
      await database.migrate();
      const [row] = await bouncer.direct`
        SELECT count(*) AS tables FROM pg_tables WHERE schemaname = ${schema} AND tablename = 'pets'`;
      expect(row.tables).toBe(1n);
    });
  }

  test('the log names the pooler in its `encryption` field', async () => {
    await using store = await openStore(10_000);
    expect(await store.database.encryption()).toBe('unknown (sslmode=prefer), to a connection pooler');
  });
});
