/** A table may have no columns besides its key, as a list of ids. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { PostgresEntity } from '../../src/storage/postgres/entities/entity.ts';
import { buildGroupStatement } from '../../src/storage/postgres/groups/statement.ts';
import { SqliteEntity } from '../../src/storage/sqlite/entities/entity.ts';
import { int64, table } from '../../src/tables/table.ts';
import { testServers } from '../support/servers.ts';
import { openSession } from './postgres-kit.ts';

const marks = table('marks', { id: int64 });

test('a row without other columns can be stored again on SQLite', () => {
  using database = new Database(':memory:', { safeIntegers: true });
  database.run('CREATE TABLE marks (id INTEGER PRIMARY KEY) STRICT');
  const rows = new SqliteEntity(database, marks);
  for (const id of [7n, 7n, 8n]) rows.put({ id });
  expect(rows.list()).toEqual([{ id: 7n }, { id: 8n }]);
});

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test.skipIf(servers === undefined)(
  'a row without other columns can be stored again on PostgreSQL',
  async () => {
    if (servers === undefined) return;
    await using schema = await servers.makeSchema();
    await using session = openSession(schema.url);
    await session`CREATE TABLE marks (id bigint PRIMARY KEY)`;
    const rows = new PostgresEntity(marks, { run: async (statement) => statement(session) });
    for (const id of [7n, 7n, 8n]) await rows.put({ id });
    expect(await rows.list()).toEqual([{ id: 7n }, { id: 8n }]);
  },
);

test('a group can store a row without other columns again', () => {
  const part = { table: marks, isRead: true, isAdded: false, isChanged: true, isRemoved: false, lookups: [] };
  expect(buildGroupStatement([part])).toContain('SET id = new.id FROM');
});
