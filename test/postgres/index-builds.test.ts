/** Upgrades of a PostgreSQL store build indexes while instances of an older version change the tables. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { apply, migrationSteps, newestFormat } from '../../src/storage/postgres/migration-steps.ts';
import { formatIn, formatOf11, openDatabase, openSession, writeStoreOf11 } from '../storage/postgres-kit.ts';
import { demand } from '../storage/schema.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';
import { until } from '../support/wait.ts';

/** The first index of the step. */
const index = 'orders_by_reference';

const waiting =
  /building the index|waiting for the transaction of session (\d+) \(nightly dump, idle in transaction, since 2.*Z\) to end/;

/** Indexes by name, and whether a build of them has succeeded. */
async function validityOf(session: SQL): Promise<Record<string, boolean>> {
  const rows: { name: string; isValid: boolean }[] = await session`
    SELECT relname AS name, indisvalid AS "isValid" FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relnamespace = current_schema()::regnamespace`;
  return Object.fromEntries(rows.map(({ name, isValid }) => [name, isValid]));
}

async function expectMigrated(session: SQL): Promise<void> {
  const found = await validityOf(session);
  const changes = migrationSteps.map(({ change }) => change).join();
  const isDropped = (name: string) => new RegExp(`DROP INDEX .*\\b${name}\\b`).test(changes);
  const built = migrationSteps
    .flatMap(({ indexes }) => indexes.map(({ name }) => name))
    .filter((name) => !isDropped(name));
  expect(built.filter((name) => found[name] !== true)).toEqual([]);
  expect(Object.values(found)).not.toContain(false);
  expect(await formatIn(session)).toBe(newestFormat);
}

/** Tables and indexes, and the files that contain their rows. */
async function relationsOf(session: SQL) {
  const rows: { name: string; file: bigint; table: string | null }[] = await session`
    SELECT pg_class.relname AS name, pg_relation_filenode(pg_class.oid)::bigint AS file, tables.relname AS "table"
    FROM pg_class LEFT JOIN pg_index ON indexrelid = pg_class.oid LEFT JOIN pg_class AS tables ON tables.oid = indrelid
    WHERE pg_class.relnamespace = current_schema()::regnamespace AND pg_class.relkind IN ('r', 'i')`;
  return new Map(rows.map((row) => [row.name, row]));
}

await describeWithServers('building indexes during an upgrade of PostgreSQL', ({ makeSchema }) => {
  /** A store without the index, and a transaction that the build of the index waits for. */
  async function openStore() {
    await using made = new AsyncDisposableStack();
    const { url } = made.use(await makeSchema());
    const older = made.use(openSession(url));
    await writeStoreOf11(older);
    const reader = made.use(openSession(url));
    await reader.unsafe("SET application_name = 'nightly dump'");
    await reader.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const [{ pid }] = await reader`SELECT pg_backend_pid() AS pid`;
    const open = () => {
      const notices: string[] = [];
      const database = openDatabase(url, 20_000, (text) => notices.push(text));
      const isWaiting = () => notices.some((text) => waiting.exec(text)?.[1] === String(pid));
      return { database, notices, isWaiting, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
    };
    const kept = made.move();
    return { older, reader, open, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test('changes to the table do not wait, and the log names the transaction that the build is waiting for', async () => {
    await using store = await openStore();
    const { older, reader } = store;
    await using upgrade = store.open();
    const migrated = upgrade.database.migrate();
    await until(upgrade.isWaiting);
    // The reader ends only after the changes, so a change that waits for the build is canceled.
    await older.unsafe("SET statement_timeout = '20s'");
    await older`INSERT INTO orders VALUES (1, 1, 'placed', 'added', 0, 0)`;
    await older`UPDATE orders SET status = 'approved'`;
    expect((await validityOf(older))[index]).toBe(false);
    await reader`COMMIT`;
    await migrated;
    await expectMigrated(older);
    await older`SET enable_seqscan = off`;
    expect(Array.from(await older`SELECT id FROM orders WHERE reference = 'added'`)).toEqual([{ id: 1n }]);
  });

  test('an index whose build failed is removed and built again at the next start', async () => {
    await using store = await openStore();
    const { older, reader } = store;
    {
      await using upgrade = store.open();
      const failed = rejectionOf(upgrade.database.migrate());
      await until(upgrade.isWaiting);
      await older`
        SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index WHERE relid = 'orders'::regclass`;
      expect(await failed).toBeInstanceOf(Error);
    }
    expect((await validityOf(older))[index]).toBe(false);
    await reader`COMMIT`;
    await using upgrade = store.open();
    await upgrade.database.migrate();
    await expectMigrated(older);
  });

  test('a build that is still running after its process has ended is awaited', async () => {
    await using store = await openStore();
    const { older, reader } = store;
    {
      await using killed = store.open();
      const failed = rejectionOf(killed.database.migrate());
      await until(killed.isWaiting);
      await killed.database[Symbol.asyncDispose]();
      expect(await failed).toBeInstanceOf(Error);
    }
    await using upgrade = store.open();
    const migrated = upgrade.database.migrate();
    await until(() => upgrade.notices.some((text) => text.includes('has locked orders')));
    expect(upgrade.notices.join()).not.toContain('building the index');
    await reader`COMMIT`;
    await migrated;
    await expectMigrated(older);
  });

  test('instances that start at the same time build each index once', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeStoreOf11(older);
    const notices: string[] = [];
    await using one = openDatabase(schema.url, 20_000, (text) => notices.push(text));
    await using other = openDatabase(schema.url, 20_000, (text) => notices.push(text));
    await Promise.all([one.migrate(), other.migrate()]);
    await expectMigrated(older);
  });

  test('no step blocks changes to an existing table while it builds an index or rewrites the table', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    const blocking: string[] = [];
    await writeStoreOf11(session);
    for (const step of migrationSteps.filter(({ format }) => format > formatOf11)) {
      for (const { create } of step.indexes) await session.unsafe(create);
      const earlier = await relationsOf(session);
      await session.unsafe(step.newTables);
      await apply(step, session);
      for (const { name, file, table } of (await relationsOf(session)).values()) {
        const isChanged = earlier.get(name)?.file !== file;
        if (isChanged && earlier.has(table ?? name)) blocking.push(name);
      }
    }
    demand(
      'Move CREATE INDEX to `postgresIndexes` of the step, so that instances of older versions can change the table during the build, or ' +
        'replace the ALTER TABLE that rewrites the table:',
      blocking,
    );
  });
});
