/** Guarantees of PostgreSQL in addition to those of every store. */
import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { readServerContents } from '../../src/app/backups.ts';
import { openStore } from '../../src/app/store.ts';
import type { Pet } from '../../src/contract/representations.ts';
import { resolveQuota } from '../../src/domain/plan.ts';
import { resources } from '../../src/domain/resources.ts';
import { units } from '../../src/operations/units.ts';
import { StorageUnavailable, StoreUnusableError } from '../../src/outages/errors.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { PostgresEvents } from '../../src/storage/postgres/entities/events.ts';
import { versionCounter } from '../../src/storage/postgres/versions.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import { tables } from '../../src/tables/tables.ts';
import { patient } from '../storage/cluster-place.ts';
import { strictRules } from '../storage/place.ts';
import { formatOf11, openSession, writeStoreOf11 } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { newWorkplace } from '../support/cli.ts';
import { FakeClock } from '../support/clock.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testServers } from '../support/servers.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('PostgreSQL', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);
  const open = (url: string, statementTimeoutMs = 10_000, notice: (text: string) => void = () => {}) =>
    new PostgresDatabase({ url, poolSize: 4, statementTimeoutMs, notice });
  const messageOf = (done: Promise<unknown>) =>
    done.then(
      () => 'done',
      (error: Error) => error.message,
    );

  test('processes that start at the same time migrate an empty database only once', async () => {
    await using schema = await makeSchema();
    await using all = new AsyncDisposableStack();
    const databases = Array.from({ length: 8 }, () => all.use(open(schema.url)));
    await Promise.all(databases.map((database) => database.migrate()));
    const [first] = databases;
    const rows = await first?.read((sql) => sql`SELECT name, last FROM counters ORDER BY name`);
    const counted = tables.filter(({ isCounted }) => isCounted).map(({ name }) => name);
    const names = [...new Set([...counted, ...resources.map(versionCounter)])].sort();
    expect([...(rows as unknown[])]).toEqual(names.map((name) => ({ name, last: 0n })));
  });

  test('a management command does not create a store in an empty database, and explains how to specify the right database', async () => {
    await using schema = await makeSchema();
    await using database = open(schema.url);
    expect(await messageOf(database.migrate(false))).toMatch(/^No store found in this .* Check DATABASE_URL/);
    const rows = await database.read(
      (sql) => sql`SELECT 1 FROM pg_tables WHERE schemaname = current_schema()`,
    );
    expect([...(rows as unknown[])]).toEqual([]);
  });

  test('a start fails if the schema in DATABASE_URL does not exist, and the message names the remedy', async () => {
    await using schema = await makeSchema();
    const url = new URL(schema.url);
    url.searchParams.set('search_path', 'no_such_schema');
    await using database = open(url.href);
    expect(await messageOf(database.migrate())).toMatch(/does not exist.*CREATE SCHEMA/);
  });

  test("a migration waits for another process's migration, and logs which session is migrating", async () => {
    await using schema = await makeSchema();
    await using other = new SQL(schema.url, { max: 1 });
    const notices: string[] = [];
    await using database = open(schema.url, 1_000, (text) => notices.push(text));
    // Other tests may migrate other schemas of the same database.
    const aboutOther = () => notices.filter((text) => text.includes(`session ${pid} (`));
    let migrated: Promise<void> | undefined;
    let pid = 0;
    await other.begin(async (transaction) => {
      [{ pid }] = await transaction`
        SELECT pg_backend_pid() AS pid, pg_advisory_xact_lock(${0x416e5374}, hashtext(current_schema()))`;
      migrated = database.migrate();
      await until(() => aboutOther().length > 0);
    });
    await migrated;
    expect(aboutOther()).toEqual([expect.stringContaining('is migrating')]);
  });

  test('a database that belongs to a newer version or another program is rejected and left unchanged', async () => {
    await using schema = await makeSchema();
    await using sql = new SQL(schema.url, { max: 1 });
    await sql`CREATE TABLE pets (whose text)`;
    await using database = open(schema.url);
    const refused = await rejectionOf(database.migrate());
    expect(refused).toBeInstanceOf(StoreUnusableError);
    expect((refused as Error).message).toContain("another program's tables");

    await sql`DROP TABLE pets`;
    await database.migrate();
    await sql`UPDATE animal_store_format SET version = 99`;
    expect(await messageOf(database.migrate())).toContain('newer version of the service (format 99');
  });

  test('the error for an unreachable server names it without the password', async () => {
    await using database = open('postgres://store:secret@127.0.0.1:1/animals');
    const message = await messageOf(database.migrate());
    expect(message).toContain('127.0.0.1:1/animals');
    expect(message).not.toContain('secret');
  });

  test('instances that add animals concurrently assign every id exactly once, without gaps', async () => {
    await using schema = await makeSchema();
    await using all = new AsyncDisposableStack();
    const databases = Array.from({ length: 3 }, () => all.use(open(schema.url)));
    await databases[0]?.migrate();
    let announced = 0;
    const announce = async () => void announced++;
    const writers = databases.map(
      (database) => new PostgresWriter(database, units, announce, { secret: 'c2VjcmV0' }),
    );
    const added = await Promise.all(
      Array.from(
        { length: 900 },
        (_, index) =>
          writers[index % 3]?.write('createPet', { now: 0, body: newPet(`${index}`) }) as Promise<Pet>,
      ),
    );
    const ids = added.map((pet) => Number(pet.id)).sort((one, other) => one - other);
    expect(ids).toEqual(Array.from({ length: 900 }, (_, index) => index + 1));
    // Concurrent writes to a writer are combined into one statement.
    expect(announced).toBe(3);
  });

  test('of two events, the one that is committed later gets the higher id, even if it was written first', async () => {
    await using schema = await makeSchema();
    await using database = open(schema.url);
    await database.migrate();
    await using early = openSession(schema.url);
    await using late = openSession(schema.url);
    const add = (sql: SQL, data: string) =>
      sql`INSERT INTO unnumbered_events (type, data, created_at) VALUES ('pet.updated', ${data}, 0)`;
    const events = new PostgresEvents({ run: (statement) => database.read(statement) });
    const seen = async () => (await events.list(0n, 10)).map(({ id, data }) => `${id} ${data}`);
    await early.begin(async (sql) => {
      await add(sql, 'early');
      await add(late, 'late');
      expect(await seen()).toEqual(['1 late']);
    });
    expect(await seen()).toEqual(['1 late', '2 early']);
  });

  test('a statement that exceeds its timeout is canceled by the server, and the connection stays usable', async () => {
    await using schema = await makeSchema();
    await using database = open(schema.url, 2_000);
    const slow = database.write((sql) => sql`SELECT pg_sleep(600)`);
    expect(await rejectionOf(slow)).toBeInstanceOf(StorageUnavailable);
    expect(database.trouble).toBeUndefined();
  });

  test('a process that hangs within a transaction blocks other processes no longer than the statement timeout', async () => {
    await using schema = await makeSchema();
    await using database = open(schema.url, 7_000);
    const rows = await database.read((sql) => sql`SHOW idle_in_transaction_session_timeout`);
    expect([...(rows as unknown[])]).toEqual([{ idle_in_transaction_session_timeout: '7s' }]);
  });

  test('no statement is JIT-compiled, because compiling it would take longer than running it', async () => {
    await using schema = await makeSchema();
    await using database = open(schema.url, 7_000);
    const rows = await database.read((sql) => sql`SHOW jit`);
    expect([...(rows as unknown[])]).toEqual([{ jit: 'off' }]);
  });
});

describe.skipIf(servers === undefined)('verifying a PostgreSQL store', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('counts the rows and reports the format, but does not upgrade the store', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOf11(session);
    const verified = await readServerContents(schema.url);
    expect(verified).toMatchObject({
      format: formatOf11,
      counts: { animal_store_format: 1 },
    });
    expect(verified.newestFormat).toBeGreaterThan(formatOf11);
    const [{ count }] = await session`SELECT count(*) AS count FROM pets`;
    expect(BigInt(verified.counts.pets as number)).toBe(count);
    const [{ version }] = await session`SELECT version FROM animal_store_format`;
    expect(Number(version)).toBe(formatOf11);
  });

  test('reports a missing store, and changes nothing', async () => {
    await using schema = await makeSchema();
    expect(await rejectionOf(readServerContents(schema.url))).toMatchObject({
      message: expect.stringContaining('No store found'),
    });
  });

  test('is available as a command', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOf11(session);
    await using place = await newWorkplace({ store: false });
    const { exitCode, stdout } = await place.run(['backup', 'verify'], {
      environment: { DATABASE_URL: schema.url, REDIS_URL: 'redis://127.0.0.1:1' },
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Counted all rows in the store.')]);
  });
});

describe.skipIf(servers === undefined)('the facts about a store on PostgreSQL and Redis', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema, makePrefix, redisUrl } = servers ?? ({} as NonNullable<typeof servers>);

  test('include the servers, the writes of this process, and current problems', async () => {
    await using schema = await makeSchema();
    await using redis = await tcpProxy(redisUrl);
    await using postgres = await tcpProxy(schema.url);
    await using store = await openStore({
      url: postgres.url,
      clock: new FakeClock(),
      rules: strictRules,
      isServing: true,
      cluster: { ...patient, redisUrl: redis.url, redisPrefix: makePrefix() },
    });
    const account = { name: 'a', ...resolveQuota('free'), createdAt: 0 };
    await Promise.all([store.write('createAccount', account), store.write('createAccount', account)]);

    await store.limits.versions();

    const facts = await store.facts();
    expect(facts).toMatchObject({
      engine: 'PostgreSQL and Redis',
      encryption: 'none',
      postgresVersion: expect.stringMatching(/^\d+\.\d+/),
      postgresTrouble: null,
      poolWaiting: 0,
      redisVersion: expect.stringMatching(/^\d+\.\d+/),
      redisTrouble: null,
      groups: 1,
      units: 2,
      waiting: 0,
    });
    for (const name of [
      'dataBytes',
      'postgresStatements',
      'postgresSeconds',
      'redisRequests',
      'redisSeconds',
      'seconds',
    ]) {
      expect(facts[name]).toBeGreaterThan(0);
    }

    await Promise.all([redis.cut(), postgres.cut()]);
    await until(async () => {
      await Promise.allSettled([store.limits.versions(), store.accounts.find(1)]);
      const { redisTrouble, postgresTrouble } = await store.facts();
      return redisTrouble !== null && postgresTrouble !== null;
    });
    // `facts` does not wait for a server that is known to be unavailable.
    expect(await store.facts()).toMatchObject({
      postgresVersion: null,
      postgresTrouble: expect.stringContaining('PostgreSQL'),
      dataBytes: null,
      redisVersion: null,
      redisTrouble: expect.stringContaining('Redis'),
      groups: 1,
    });
  });
});
