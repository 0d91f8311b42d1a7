/** A store on PostgreSQL from before the shop: brought up to date while older instances go on. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { SQL } from 'bun';
import { defaultScopes } from '../../src/domain/scope.ts';
import { PostgresKeys } from '../../src/storage/postgres/keys.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs, until } from '../support/wait.ts';
import { inventories, openDatabase, openSession, writeOldStore } from './postgres-kit.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** Adds an animal as instances did before there was an inventory. */
async function addAsBefore(session: SQL, name: string): Promise<void> {
  await session`
    WITH taken AS (UPDATE counters SET last = last + 1, version = version + 1 WHERE name = 'pets' RETURNING last)
    INSERT INTO pets (id, name, category_id, status) SELECT last, ${name}, 3, 'available' FROM taken`;
}

describe.skipIf(servers === undefined)('the upgrade of a store on PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('counts the animals, and those that an older instance adds meanwhile and later', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeOldStore(older);
    await using database = openDatabase(schema.url);
    await older`BEGIN`;
    await addAsBefore(older, 'before');
    const migrated = database.migrate();
    const waits = async () => {
      const rows = await observer`
        SELECT 1 FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE relname = 'pets' AND relnamespace = current_schema()::regnamespace AND NOT granted`;
      return rows.length > 0;
    };
    await until(waits);
    await older`COMMIT`;
    await migrated;
    await addAsBefore(older, 'after');
    const { kept, counted } = await inventories(older);
    expect(kept).toEqual(counted);
    const [{ last }] = await older`SELECT last FROM counters WHERE name = 'pets'`;
    expect(last).toBe(5_002n);
  });

  test('gives no key more than it had', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await writeOldStore(older);
    await using database = openDatabase(schema.url);
    await database.migrate();
    await older`INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at)
                VALUES (2, 1, 'of an older version', 'later', 'wxyz', 0)`;
    const keys = new PostgresKeys(database);
    for (const fingerprint of ['old', 'later']) {
      expect((await keys.findCaller(fingerprint))?.scopes).toEqual(new Set(defaultScopes));
    }
  });

  test('killed, it has done nothing, and is done by the next start', async () => {
    await using schema = await makeSchema();
    await using older = openSession(schema.url);
    await using observer = openSession(schema.url);
    await writeOldStore(older);
    // Its last step waits for who reads keys.
    await older`BEGIN`;
    await older`SELECT FROM keys`;
    const waiting = () => observer<{ pid: number }[]>`
      SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
      WHERE relname = 'keys' AND relnamespace = current_schema()::regnamespace AND NOT granted`;
    {
      await using database = openDatabase(schema.url);
      const refused = rejectionOf(database.migrate());
      await until(async () => (await waiting()).length > 0);
      for (const { pid } of await waiting()) await observer`SELECT pg_terminate_backend(${pid}::integer)`;
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
});
