/** Upgrades of a PostgreSQL store while instances of an older version are running. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { openTables } from '../../src/app/store.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import { migrationSteps } from '../../src/storage/postgres/migration-steps.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import { foldCase } from '../../src/tables/accounts.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';
import {
  formatOf11,
  inventories,
  lockAwaited,
  lockers,
  openDatabase,
  openSession,
  writeOldStore,
  writeStoreOf11,
  writeStoreOfFormat,
} from './postgres-kit.ts';

/** Adds an animal the way a version without the inventory does. */
async function addAsBefore(session: SQL, name: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1, version = version + 1 WHERE name = 'pets' RETURNING last)
    INSERT INTO pets (id, name, category_id, status) SELECT last, ${name}, 3, 'available' FROM taken`;
}

/** The last format without operators. */
const before = 5;

/** Creates an account the way a version without case-folded names does. */
async function addAccountAsBefore(session: SQL, name: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1 WHERE name = 'accounts' RETURNING last)
    INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at)
    SELECT last, ${name}, 'free', NULL, NULL, 0 FROM taken`;
}

async function addKeyAsBefore(session: SQL, accountId: number, fingerprint: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1, version = version + 1 WHERE name = 'keys' RETURNING last)
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
    SELECT last, ${accountId}, 'key', ${fingerprint}, 'wxyz', 'pets:read', 0, NULL FROM taken`;
}

await describeWithServers('upgrading a PostgreSQL store', ({ makeSchema }) => {
  test('counts the animals, including those that an older instance adds during and after the upgrade', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeOldStore(older);
    await using database = openDatabase(schema.url);
    await older`BEGIN`;
    await addAsBefore(older, 'before');
    const migrated = database.migrate();
    await lockAwaited(observer);
    await older`COMMIT`;
    await migrated;
    await addAsBefore(older, 'after');
    const { kept, counted } = await inventories(older);
    expect(kept).toEqual(counted);
    const [{ last }] = await older`SELECT last FROM counters WHERE name = 'pets'`;
    expect(last).toBe(5_002n);
  });

  test('does not change the scopes of keys', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeOldStore(older);
    await using database = openDatabase(schema.url);
    await database.migrate();
    await older`INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at)
                VALUES (2, 1, 'of an older version', 'later', 'wxyz', 0)`;
    const keys = createReads({ run: (statement) => database.read(statement) }).keys;
    for (const fingerprint of ['old', 'later']) {
      expect((await keys.findCaller(fingerprint))?.scopes).toEqual(new Set(defaultScopes));
    }
  });

  test('is left to the service and the migrate command', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeOldStore(older);
    await using database = openDatabase(schema.url);
    expect(String(await rejectionOf(database.migrate(true, false)))).toContain(
      'The database has format 4, from an older version of the service; this version needs format ',
    );
    await expect(openTables(schema.url, true)).rejects.toThrow('Nothing was changed.');
    const [{ version }] = await older`SELECT version FROM animal_store_format`;
    expect(version).toBe(4);
    await database.migrate(false, true);
    await database.migrate(false, false);
  });

  test('changes nothing if it is killed, and is retried on the next start', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeOldStore(older);
    // The last migration waits for readers of keys.
    await older`BEGIN`;
    await older`SELECT FROM keys`;
    {
      await using database = openDatabase(schema.url);
      const refused = rejectionOf(database.migrate());
      await lockAwaited(observer);
      for (const pid of await lockers(observer, 'waiting'))
        await observer`SELECT pg_terminate_backend(${pid})`;
      expect(await refused).toBeInstanceOf(Error);
    }
    await older`COMMIT`;
    const [{ version }] = await older`SELECT version FROM animal_store_format`;
    expect(version).toBe(4);
    expect([
      ...(await older`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'orders'`),
    ]).toEqual([]);
    await using database = openDatabase(schema.url);
    await database.migrate();
    const { kept, counted } = await inventories(older);
    expect(kept).toEqual(counted);
  });

  test("case-folds account names by the service's rules, not by the database server's", async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeStoreOfFormat(older, before);
    const names = ['ÄPFEL', '\ufb01sh', 'İstanbul', 'ΣΑΣ', 'e\u0301t\u00e9', '"quoted" \\', '猫'];
    for (const name of names) await addAccountAsBefore(older, name);
    await older`
      INSERT INTO accounts (id, name, plan, created_at) SELECT id, 'Shop ' || id, 'free', 0 FROM generate_series(8, 2500) AS id`;
    await using database = openDatabase(schema.url);
    await database.migrate();
    const stored = await older<{ name: string; folded: string }[]>`
      SELECT name, name_folded AS folded FROM accounts ORDER BY id`;
    expect(stored.map((row) => row.folded)).toEqual(stored.map(({ name }) => foldCase(name)));
    expect(stored).toHaveLength(2_500);
    const accounts = createReads({ run: (statement) => database.read(statement) }).accounts;
    for (const name of names) {
      expect((await accounts.search(undefined, 2, { name })).map((account) => account.name)).toEqual([name]);
    }
  });

  test('is rejected while tables of a newer version exist, and the message says how to remove them', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using database = openDatabase(schema.url);
    await writeStoreOf11(session);
    const former: { name: string }[] = await session`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`;
    await database.migrate();
    // As "pg_restore --clean" restores a dump of that version.
    await session.unsafe(former.map(({ name }) => `DROP TABLE ${name} CASCADE;`).join(''));
    await session.unsafe('DROP FUNCTION count_pets, fold_name, number_events');
    await writeStoreOf11(session);
    const message = String(await rejectionOf(database.migrate()));
    const [, drop = ''] = /try again: (DROP TABLE .*;)$/.exec(message) ?? [];
    expect(drop).toContain('.usage_reports');
    await session.unsafe(drop);
    await database.migrate();
    const [{ version }] = await session`SELECT version FROM animal_store_format`;
    expect(version).toBe(migrationSteps.length);
  });

  test('waits for transactions of older instances, which keep working', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeStoreOfFormat(older, before);
    await using database = openDatabase(schema.url);
    await older`BEGIN`;
    await addAccountAsBefore(older, 'Meanwhile');
    await addKeyAsBefore(older, 1, 'first');
    const migrated = database.migrate();
    await lockAwaited(observer);
    // This causes no deadlock, because the migration does not yet hold the lock needed here.
    await addAccountAsBefore(older, 'Meanwhile too');
    await older`COMMIT`;
    await migrated;

    await addAccountAsBefore(older, 'Later');
    await addKeyAsBefore(older, 3, 'second');
    await older`UPDATE accounts SET plan = 'pro', per_minute = NULL, per_day = NULL WHERE id = 3`;
    const accounts = createReads({ run: (statement) => database.read(statement) }).accounts;
    const found = async (name: string) => (await accounts.search(undefined, 9, { name })).map(({ id }) => id);
    expect(await found('meanwhile')).toEqual([1, 2]);
    expect(await found('LATER')).toEqual([3]);
    expect((await accounts.find(3))?.closedAt).toBeNull();
    const keys = createReads({ run: (statement) => database.read(statement) }).keys;
    for (const fingerprint of ['first', 'second']) expect(await keys.findCaller(fingerprint)).toBeDefined();
  });

  for (const [beside, begin] of [
    ['a backup (pg_dump)', 'BEGIN ISOLATION LEVEL REPEATABLE READ'],
    ['an idle transaction that has read every table', 'BEGIN'],
  ] as const) {
    test(`during ${beside}, changes by older instances do not wait, and the log names the session`, async () => {
      await using schema = await makeSchema();
      await using older = openSession(schema.url);
      await using reader = openSession(schema.url);
      await writeStoreOf11(older);
      await addAccountAsBefore(older, 'First');
      const tables = await older<{ name: string }[]>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`;
      await reader.unsafe("SET application_name = 'nightly dump'");
      await reader.unsafe(begin);
      // Without `simple`, the session keeps the snapshot of its last statement.
      for (const { name } of tables) await reader.unsafe(`SELECT FROM ${name}`).simple();
      const [{ pid }] = await reader`SELECT pg_backend_pid() AS pid`;

      const notices: string[] = [];
      await using database = openDatabase(schema.url, 20_000, (text) => notices.push(text));
      let isMigrated = false;
      const migrated = database.migrate().then(() => {
        isMigrated = true;
      });
      // The reader ends only after the changes, so a change that waits for it is canceled.
      await older.unsafe("SET statement_timeout = '20s'");
      let changes = 0;
      const session = `session ${pid} \\(nightly dump, idle in transaction, since 2.*Z\\)`;
      const waiting = new RegExp(
        `waiting for (the transaction of ${session} to end|locks: ${session} has locked)`,
      );
      for (; !notices.some((text) => waiting.test(text)) || changes < 100; changes++) {
        await addAccountAsBefore(older, `Meanwhile ${changes}`);
        await addKeyAsBefore(older, 1, `fingerprint ${changes}`);
        await addAsBefore(older, `animal ${changes}`);
        await older`UPDATE accounts SET plan = 'pro' WHERE id = 1`;
      }
      expect(isMigrated).toBe(false);
      await reader`COMMIT`;
      await migrated;
      const accounts = createReads({ run: (statement) => database.read(statement) }).accounts;
      expect((await accounts.search(undefined, 9, { name: `Meanwhile ${changes - 1}` })).length).toBe(1);
    });
  }

  test('keeps the steps that were committed before it was killed, holds none of their locks, and resumes', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using reader = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeStoreOf11(older);
    await reader`BEGIN`;
    await reader`LOCK TABLE accounts IN ACCESS SHARE MODE`;
    {
      await using database = openDatabase(schema.url);
      const refused = rejectionOf(database.migrate());
      await lockAwaited(observer);
      const pids = await lockers(observer, 'waiting');
      const [{ tables }] = await observer`
        SELECT string_agg(DISTINCT relname, ', ') AS tables FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE granted AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
          AND pid IN (SELECT value::int FROM json_array_elements_text(${JSON.stringify(pids)}::text::json))`;
      expect(tables).toBe('animal_store_format');
      for (const pid of pids) await observer`SELECT pg_terminate_backend(${pid})`;
      expect(await refused).toBeInstanceOf(Error);
    }
    const [{ version }] = await older`SELECT version FROM animal_store_format`;
    expect(version).toBeGreaterThan(formatOf11);
    await reader`COMMIT`;
    await using one = openDatabase(schema.url);
    await using other = openDatabase(schema.url);
    await Promise.all([one.migrate(), other.migrate()]);
    const [{ version: last }] = await older`SELECT version FROM animal_store_format`;
    expect(last).toBe(migrationSteps.length);
  });
});
