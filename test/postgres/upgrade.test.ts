/** Upgrades of a PostgreSQL store, and instances of version 1.1.0 that keep running. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { openTables } from '../../src/app/store.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import { type Begin, MigrationLocked, whenUnlocked } from '../../src/storage/postgres/migration-locks.ts';
import { newestFormat } from '../../src/storage/postgres/migration-steps.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import { foldCase } from '../../src/tables/accounts.ts';
import {
  formatIn,
  formatOf11,
  inventories,
  lockAwaited,
  lockers,
  openDatabase,
  openSession,
  writeStoreOf10,
  writeStoreOf11,
} from '../storage/postgres-kit.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';

/** Adds an animal as version 1.1.0 does. */
async function addAnimal(session: SQL, name: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1, version = version + 1 WHERE name = 'pets' RETURNING last)
    INSERT INTO pets (id, name, category_id, status) SELECT last, ${name}, 3, 'available' FROM taken`;
}

async function addAccount(session: SQL, name: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1 WHERE name = 'accounts' RETURNING last)
    INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at, name_folded)
    SELECT last, ${name}, 'free', NULL, NULL, 0, ${foldCase(name)} FROM taken`;
}

async function addKey(session: SQL, accountId: number, fingerprint: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1, version = version + 1 WHERE name = 'keys' RETURNING last)
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
    SELECT last, ${accountId}, 'key', ${fingerprint}, 'wxyz', 'pets:read', 0, NULL FROM taken`;
}

await describeWithServers('upgrading a PostgreSQL store', ({ makeSchema }) => {
  test("of version 1.0.0 counts the animals, keeps the scopes of keys, and case-folds account names by the service's rules, not by the database server's", async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOf10(session);
    const names = ['ÄPFEL', '\ufb01sh', 'İstanbul', 'ΣΑΣ', 'e\u0301t\u00e9', '"quoted" \\', '猫'];
    for (const [index, name] of names.entries())
      await session`INSERT INTO accounts (id, name, plan, created_at) VALUES (${index + 1}, ${name}, 'free', 0)`;
    await session.unsafe(`
      INSERT INTO accounts (id, name, plan, created_at) SELECT id, 'Shop ' || id, 'free', 0 FROM generate_series(8, 2500) AS id;
      INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at) VALUES (1, 1, 'key', 'print', 'wxyz', 0);
      INSERT INTO pets SELECT id, 'Rex', id % 7, CASE id % 3 WHEN 0 THEN 'sold' ELSE 'available' END
      FROM generate_series(1, 5000) AS id;
      UPDATE counters SET last = 5000 WHERE name = 'pets'`);
    await using database = openDatabase(schema.url);
    await database.migrate();
    await addAnimal(session, 'later');
    const { kept, counted } = await inventories(session);
    expect(kept).toEqual(counted);
    const { accounts, keys } = createReads({ run: (statement) => database.read(statement) });
    expect((await keys.findCaller('print'))?.scopes).toEqual(new Set(defaultScopes));
    const stored = await session<{ name: string; folded: string }[]>`
      SELECT name, name_folded AS folded FROM accounts ORDER BY id`;
    expect(stored.map(({ folded }) => folded)).toEqual(stored.map(({ name }) => foldCase(name)));
    expect(stored).toHaveLength(2_500);
    for (const name of names)
      expect((await accounts.search(undefined, 2, { name })).map((account) => account.name)).toEqual([name]);
  });

  test('is left to the service and the migrate command', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeStoreOf11(older);
    await using database = openDatabase(schema.url);
    expect(String(await rejectionOf(database.migrate(true, false)))).toContain(
      'The database has format 10, from an older version of the service; this version needs format ',
    );
    await expect(openTables(schema.url, true)).rejects.toThrow('Nothing was changed.');
    expect(await formatIn(older)).toBe(formatOf11);
    await database.migrate(false, true);
    await database.migrate(false, false);
  });

  test('of an unreleased version is rejected with the remedy', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOf11(session);
    await session`UPDATE animal_store_format SET version = ${formatOf11 + 1}`;
    await using database = openDatabase(schema.url);
    expect(String(await rejectionOf(database.migrate()))).toMatch(
      /The database has format 11, from an unreleased version .* Restore a backup of a released version, or export the animals/,
    );
    expect(await formatIn(session)).toBe(formatOf11 + 1);
  });

  test('changes no table if it is killed, and is retried on the next start, by two instances at once', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeStoreOf11(older);
    // The migration locks accounts last.
    await older`BEGIN`;
    await older`LOCK TABLE accounts IN ACCESS SHARE MODE`;
    {
      await using database = openDatabase(schema.url);
      const refused = rejectionOf(database.migrate());
      await lockAwaited(observer);
      for (const pid of await lockers(observer, 'waiting'))
        await observer`SELECT pg_terminate_backend(${pid})`;
      expect(await refused).toBeInstanceOf(Error);
    }
    await older`COMMIT`;
    expect(await formatIn(older)).toBe(formatOf11);
    expect([
      ...(await older`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'usage_reports'`),
    ]).toEqual([]);
    await using one = openDatabase(schema.url);
    await using other = openDatabase(schema.url);
    await Promise.all([one.migrate(), other.migrate()]);
    expect(await formatIn(older)).toBe(newestFormat);
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
    await session.unsafe('DROP FUNCTION count_pets, number_events');
    await writeStoreOf11(session);
    const message = String(await rejectionOf(database.migrate()));
    const [, drop = ''] = /try again: (DROP TABLE .*;)$/.exec(message) ?? [];
    expect(drop).toContain('.usage_reports');
    await session.unsafe(drop);
    await database.migrate();
    expect(await formatIn(session)).toBe(newestFormat);
  });

  test('creates a store without changing another in the search path', async () => {
    await using schema = await makeSchema();
    await using other = await makeSchema();
    await using session = openSession(other.url);
    await writeStoreOf11(session);
    const objects = async () => [
      ...(await session`
        SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
        UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = current_schema()::regnamespace ORDER BY 1`),
    ];
    const before = await objects();
    const both = new URL(schema.url);
    both.searchParams.set(
      'search_path',
      [schema, other].map(({ url }) => new URL(url).searchParams.get('search_path')).join(),
    );
    await using database = openDatabase(both.href);
    await database.migrate();
    expect(await objects()).toEqual(before);
  });

  for (const [first, begin] of [
    ['changed accounts', (session: SQL) => addAccount(session, 'During')],
    // Until the migration gives up, this is a deadlock: it has locked the counters, and waits for the accounts.
    ['read accounts', (session: SQL) => session.unsafe('SELECT FROM accounts').simple()],
  ] as const) {
    test(`waits for a transaction of an older instance that has ${first}, which keeps working`, async () => {
      await using schema = await makeSchema();
      await using older = openSession(schema.url);
      await using observer = openSession(schema.url);
      await writeStoreOf11(older);
      await using database = openDatabase(schema.url);
      await older`BEGIN`;
      await begin(older);
      const migrated = database.migrate();
      await lockAwaited(observer);
      await addAccount(older, 'During too');
      await older`COMMIT`;
      await migrated;

      await addAccount(older, 'Later');
      await addKey(older, 1, 'print');
      await older`UPDATE accounts SET plan = 'pro', per_minute = NULL, per_day = NULL WHERE id = 1`;
      const { accounts, keys } = createReads({ run: (statement) => database.read(statement) });
      const found = async (name: string) =>
        (await accounts.search(undefined, 9, { name })).map((account) => account.name);
      expect(await found('during too')).toEqual(['During too']);
      expect(await found('LATER')).toEqual(['Later']);
      expect(await keys.findCaller('print')).toBeDefined();
    });
  }

  for (const [beside, begin, read] of [
    ['a backup (pg_dump)', 'BEGIN ISOLATION LEVEL REPEATABLE READ', /./],
    ['an idle transaction that has read every table', 'BEGIN', /./],
    ['an idle transaction that has read the table that is locked last', 'BEGIN', /^accounts$/],
  ] as const) {
    test(`during ${beside}, changes by older instances do not wait, and the log names the session`, async () => {
      await using schema = await makeSchema();
      await using older = openSession(schema.url);
      await using reader = openSession(schema.url);
      await writeStoreOf11(older);
      await addAccount(older, 'First');
      const tables = await older<{ name: string }[]>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`;
      await reader.unsafe("SET application_name = 'nightly dump'");
      await reader.unsafe(begin);
      // Without `simple`, the session keeps the snapshot of its last statement.
      for (const { name } of tables) if (read.test(name)) await reader.unsafe(`SELECT FROM ${name}`).simple();
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
        await addAccount(older, `During ${changes}`);
        await addKey(older, 1, `fingerprint ${changes}`);
        await addAnimal(older, `animal ${changes}`);
        await older`UPDATE accounts SET plan = 'pro' WHERE id = 1`;
      }
      expect(isMigrated).toBe(false);
      await reader`COMMIT`;
      await migrated;
      const { kept, counted } = await inventories(older);
      expect(kept).toEqual(counted);
      const { accounts } = createReads({ run: (statement) => database.read(statement) });
      expect((await accounts.search(undefined, 9, { name: `During ${changes - 1}` })).length).toBe(1);
    });
  }

  test('is attempted less often while the same transaction blocks it, even if others begin and end', async () => {
    await using schema = await makeSchema();
    await using oldest = openSession(schema.url);
    await using younger = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeStoreOf11(oldest);
    for (const session of [oldest, younger])
      await session.unsafe('BEGIN; LOCK TABLE accounts IN ACCESS SHARE MODE').simple();
    const polls: number[] = [];
    const begin: Begin = async (work) => {
      polls.push((polls.pop() ?? 0) + 1);
      await younger.unsafe('COMMIT').simple();
      // The other transaction ends before every other poll.
      if (polls.length % 2 === (polls.at(-1) ?? 0) % 2)
        await younger.unsafe('BEGIN; SELECT FROM accounts').simple();
      return observer.begin(work);
    };
    const options = { name: 'step', begin, notice: () => {}, lockTimeoutMs: 0, lockId: 0 };
    const step = async () => {
      if (polls.push(0) <= 4) throw new MigrationLocked();
    };
    await whenUnlocked(step, options);
    // The pauses are 1, 2, 4 and 8 polls long, after a first poll.
    expect(polls.some((count) => count > 2)).toBe(true);
  });
});
