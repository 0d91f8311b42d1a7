/** The migrations of both engines create the tables described in `src/tables/`, and the rows that resources need. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { type Resource, resources } from '../../src/domain/resources.ts';
import { openTables } from '../../src/storage/open.ts';
import { lock } from '../../src/storage/postgres/versions.ts';
import { listPlan, sqlColumns, sqlKey, sqlName } from '../../src/tables/sql.ts';
import { tables } from '../../src/tables/tables.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { openSession } from './postgres-kit.ts';
import { demand, postgresSchema, type Schema, sqliteSchema } from './schema.ts';
import { columnsOfOneEngine, danglingReferences, tableFacts, undescribed } from './table-facts.ts';

await using opened = new AsyncDisposableStack();
const servers = opened.use((await testServers()) ?? null);
const folder = opened.use(await temporaryFolder());
const path = join(folder.path, 'store.db');
opened.use(await openTables(`sqlite:${path}`, false));
const place = servers && opened.use(await servers.makeSchema());
const session = place && opened.use(openSession(place.url));
if (place !== null) opened.use(await openTables(place.url, false));
const kept = opened.move();
afterAll(() => kept.disposeAsync());

const engines: readonly (readonly [string, Schema])[] = [
  ['SQLite', sqliteSchema(path)],
  ...(session === null ? [] : [['PostgreSQL', await postgresSchema(session)] as const]),
];
describe.each(engines)('the schema of %s', (engine, schema) => {
  test('contains no table without a description', () => {
    const described = new Set(tables.map(({ name }) => name));
    demand(
      'Describe the table in src/tables/ and add it to `tables` of tables.ts, else `copy` loses its rows, or add the reason to undescribed of ' +
        'test/storage/table-facts.ts:',
      Object.keys(schema).filter((name) => !described.has(name) && !(name in undescribed)),
    );
  });

  test.each(tables.map((table) => [table.name, table] as const))(
    'has the table %s as described',
    (name, table) => {
      const { columns = {}, key = [], nullable = [] } = schema[name] ?? {};
      const described = sqlColumns(table).map((column) => {
        const type = column.type === 'boolean' && engine === 'SQLite' ? 'integer' : column.type;
        // The columns of a view have no type.
        return [column.name, columns[column.name] === undefined && column.name in columns ? undefined : type];
      });
      const found = Object.entries(columns).filter(
        ([column]) => !(`${name}.${column}` in columnsOfOneEngine),
      );
      expect(found.toSorted()).toEqual(described.toSorted() as typeof found);
      // A view has neither a key nor NOT NULL columns.
      if (Object.values(columns).includes(undefined)) return;
      if (table.key.length > 0) expect(sqlKey(table).map((column) => column.name)).toEqual([...key]);
      const mayBeNull = Object.entries(table.columns).filter(
        ([, { is }]) => is === 'nullable' || is === 'optional',
      );
      expect(nullable.toSorted()).toEqual(mayBeNull.map(([column]) => sqlName(column)).toSorted());
    },
  );
});

test('every table comes after the tables it refers to', () => {
  const earlier = new Set<string>();
  for (const { name, references } of tables) {
    expect([name, Object.values(references).filter((to) => !earlier.has(to))]).toEqual([name, []]);
    earlier.add(name);
  }
});

test('every combination of filters has an index', () => {
  for (const table of tables) {
    for (let chosen = 0; chosen < 2 ** table.filters.length; chosen++) {
      const filtered = table.filters.filter((_, index) => chosen & (1 << index));
      expect(() => listPlan(table, filtered)).not.toThrow();
    }
  }
});

test.skipIf(session === null)('every exception to the table descriptions is needed', () => {
  const known = new Set(
    engines.flatMap(([, schema]) =>
      Object.entries(schema).flatMap(([table, { columns }]) => [
        table,
        ...Object.keys(columns).map((column) => `${table}.${column}`),
      ]),
    ),
  );
  const facts = [tableFacts, undescribed, columnsOfOneEngine, danglingReferences].flatMap(Object.keys);
  demand(
    'Remove it from test/storage/table-facts.ts:',
    facts.filter((name) => !known.has(name)),
  );
});

test('every resource has a row in `versions` on SQLite', () => {
  using database = new Database(path, { readonly: true });
  const rows = database.query<{ resource: string }, []>('SELECT resource FROM versions').all();
  expect(rows.map(({ resource }) => resource).toSorted()).toEqual([...resources].toSorted());
});

test.skipIf(session === null)('every resource has a row in `counters` to lock on PostgreSQL', async () => {
  for (const resource of resources) {
    const rows: unknown[] | undefined = await session?.begin(async (sql) => [
      ...(await locked(sql, resource)),
    ]);
    expect([resource, rows?.length]).toEqual([resource, 1]);
  }
});

const locked = (sql: SQL, resource: Resource) => lock(sql, new Set([resource])) as SQL.Query<unknown[]>;
