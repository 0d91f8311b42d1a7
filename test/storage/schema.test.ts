/** What the code lists of tables, columns and resources is what the migrations of both engines make. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { type Resource, resources } from '../../src/domain/resources.ts';
import { openTables } from '../../src/storage/open.ts';
import { lock } from '../../src/storage/postgres/versions.ts';
import { columnsOf, keyColumnsOf, type TableName, tableNames } from '../../src/storage/tables.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { openSession } from './postgres-kit.ts';
import { demand, postgresSchema, referencesIn, type Schema, sqliteSchema } from './schema.ts';
import { columnsNotCopied, columnsOfOneEngine, danglingReferences, tableFacts } from './table-facts.ts';

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
const isCopied = (table: string): table is TableName => (tableNames as readonly string[]).includes(table);

describe.each(engines)('the schema of %s', (engine, schema) => {
  const tables = Object.entries(schema);

  test('has no table that copy forgets', () => {
    demand(
      'Add the table to src/storage/tables.ts, else `copy` loses its rows, or its reason as notCopied to tableFacts of ' +
        'test/storage/table-facts.ts:',
      Object.keys(schema).filter((table) => !isCopied(table) && tableFacts[table]?.notCopied === undefined),
    );
    demand(
      'Remove notCopied, for the table is copied:',
      Object.keys(schema).filter((table) => isCopied(table) && tableFacts[table]?.notCopied !== undefined),
    );
  });

  test('has no column that copy forgets', () => {
    demand(
      'Add the column to src/storage/tables.ts, else `copy` loses it, or its reason to columnsNotCopied of ' +
        'test/storage/table-facts.ts:',
      tables.flatMap(([table, { columns }]) => {
        if (!isCopied(table)) return [];
        const copied = new Set(columnsOf(table).map(({ name }) => name));
        return Object.keys(columns)
          .filter((column) => !copied.has(column) && !(`${table}.${column}` in columnsNotCopied))
          .map((column) => `${table}.${column}`);
      }),
    );
  });

  test('has the tables, columns, types and keys that are copied', () => {
    for (const table of tableNames) {
      const { columns, key } = schema[table] ?? { columns: {}, key: [] };
      for (const { name, type } of columnsOf(table)) {
        const expected = type === 'boolean' && engine === 'SQLite' ? 'integer' : type;
        // The columns of a view have no type.
        expect([table, name, columns[name] ?? (name in columns && expected)]).toEqual([
          table,
          name,
          expected,
        ]);
      }
      const copiedKey = keyColumnsOf(table).map(({ name }) => name);
      if (key.length > 0) expect([table, copiedKey]).toEqual([table, [...key]]);
    }
  });

  test('has no table that copy adds before one it refers to', () => {
    const places = new Map<string, number>(tableNames.map((table, index) => [table, index]));
    demand(
      'Move the table behind the other one in src/storage/tables.ts:',
      referencesIn(schema)
        .filter(({ table, to }) => (places.get(to) ?? -1) > (places.get(table) ?? places.size))
        .filter(({ table, column }) => !(`${table}.${column}` in danglingReferences))
        .map(({ table, to }) => `${table} before ${to}`),
    );
  });

  test('has only tables whose facts are known', () => {
    demand(
      'Add the table to tableFacts of test/storage/table-facts.ts:',
      Object.keys(schema).filter((table) => tableFacts[table] === undefined),
    );
  });
});

test('a table that both engines have has the same columns', () => {
  const names = ([, schema]: (typeof engines)[number], table: string) =>
    Object.keys(schema[table]?.columns ?? {}).filter(
      (column) => !(`${table}.${column}` in columnsOfOneEngine),
    );
  const [one, other = one] = engines;
  if (one === undefined || other === undefined) throw new Error('There is no engine.');
  for (const table of Object.keys(one[1]).filter((name) => name in other[1])) {
    expect([table, names(one, table).toSorted()]).toEqual([table, names(other, table).toSorted()]);
  }
});

test.skipIf(session === null)('every table and column with facts exists', () => {
  const known = new Set(
    engines.flatMap(([, schema]) =>
      Object.entries(schema).flatMap(([table, { columns }]) => [
        table,
        ...Object.keys(columns).map((column) => `${table}.${column}`),
      ]),
    ),
  );
  const facts = [tableFacts, columnsNotCopied, columnsOfOneEngine, danglingReferences].flatMap(Object.keys);
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
