/** The migrations of both engines create the tables described in `src/tables/`, and the rows that resources need. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { openTables } from '../../src/app/store.ts';
import { eventScopes, eventTypes, requiredScope } from '../../src/domain/event-type.ts';
import { type Resource, resources } from '../../src/domain/resources.ts';
import { deliveryScopeSql } from '../../src/storage/delivery-row.ts';
import { lock } from '../../src/storage/postgres/versions.ts';
import { schemaChanges } from '../../src/storage/schema/schema.ts';
import type { SchemaChange } from '../../src/storage/schema/schema-change.ts';
import { openDatabase as openSqliteFile } from '../../src/storage/sqlite/database.ts';
import { dataMigrations } from '../../src/storage/sqlite/migrations.ts';
import { listPlan, sqlColumns, sqlKeyColumns, sqlName } from '../../src/tables/sql.ts';
import { tables } from '../../src/tables/tables.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import { testServers } from '../support/servers.ts';
import { openDatabase, openSession, writeStoreOf11 } from './postgres-kit.ts';
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
      if (table.key.length > 0) expect(sqlKeyColumns(table).map((column) => column.name)).toEqual([...key]);
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

test('a version in the changelog has the formats with which it was released', async () => {
  const released: Readonly<Record<string, SchemaChange['formats']>> = {
    '1.2.0': { sqlite: 18, postgres: 32 },
    '1.1.0': { sqlite: 7, postgres: 10 },
    '1.0.0': { sqlite: 1, postgres: 1 },
  };
  const changelog = await Bun.file(join(root, 'CHANGELOG.md')).text();
  const versions = [...changelog.matchAll(/^## (\d\S*)/gm)].map(([, version]) => version ?? '');
  const missing = versions.filter((version) => released[version] === undefined);
  demand('Add the formats of these versions to this test:', missing);
  expect(schemaChanges.slice(0, versions.length).map(({ formats }) => formats)).toEqual(
    versions.toReversed().flatMap((version) => released[version] ?? []),
  );
});

describe('the SQL for the scope that a delivery requires', () => {
  const scopeOf = (type: string) => {
    using database = new Database(':memory:');
    return database.query(`SELECT ${deliveryScopeSql} AS scope FROM (SELECT ?1 AS type)`).get(type);
  };

  test('agrees with the domain for every event type', () => {
    for (const type of eventTypes)
      expect([type, scopeOf(type)]).toEqual([type, { scope: requiredScope(type) }]);
  });

  test('returns no scope if the group of the event is unknown', () => {
    expect(scopeOf('unknown.created')).toEqual({ scope: null });
  });

  test('is used unchanged in an index of due deliveries', () => {
    const isIndexed = sqliteParts(path).some((part) => String(part).includes(deliveryScopeSql));
    demand(
      'Replace the index of due deliveries in the changes of the next release (src/storage/schema/), so that it has the expression of deliveryScopeSql:',
      isIndexed ? [] : [deliveryScopeSql],
    );
  });

  test.each(eventScopes)('is looked up in an index of the keys that may read events with %s', (scope) => {
    const condition = `instr(scopes, 'events:read') > 0 AND instr(scopes, '${scope}') > 0`;
    demand(
      'Add an index `event_readers_of_…` to the changes of the next release (src/storage/schema/):',
      sqliteParts(path).some((part) => String(part).includes(condition)) ? [] : [condition],
    );
  });
});

/** The parts of a schema that are not described, in any order of columns. */
function sqliteParts(file: string): unknown[] {
  using database = new Database(file, { readonly: true });
  const parts = database.query(`
    SELECT list.name, info.name, info.type, info."notnull", info.dflt_value
    FROM pragma_table_list AS list JOIN pragma_table_xinfo(list.name) AS info WHERE list.schema = 'main'
    UNION ALL SELECT tbl_name, name, sql, 0, '' FROM sqlite_master WHERE type IN ('index', 'trigger')`);
  return parts
    .values()
    .map((part) => String(part).replaceAll(/\s+/g, ' '))
    .toSorted();
}

async function postgresParts(sql: SQL): Promise<string[]> {
  const rows: { part: string }[] = await sql`
    SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS part
    FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL SELECT replace(indexdef, current_schema(), '') FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT replace(pg_get_triggerdef(pg_trigger.oid), current_schema(), '')
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
    UNION ALL SELECT concat_ws(' ', proname, prosrc) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    UNION ALL SELECT concat_ws(' ', relname, reloptions::text) FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace`;
  return rows.map(({ part }) => part.replaceAll(/\s+/g, ' ')).toSorted();
}

describe('an upgraded store of version 1.1.0 has the same schema as a new store', () => {
  test('on SQLite', async () => {
    const former = join(folder.path, '1.1.0.db');
    {
      using database = new Database(former, { create: true });
      database.run('PRAGMA journal_mode = WAL');
      database.run(await Bun.file(join(import.meta.dir, 'store-1.1.0/sqlite.sql')).text());
    }
    const lock = () => ({ [Symbol.dispose]: () => {} });
    const options = { migrations: dataMigrations, create: false, migrates: true, busyTimeoutMs: 0, lock };
    openSqliteFile({ path: former, ...options }).close();
    expect(sqliteParts(former)).toEqual(sqliteParts(path));
  });

  test.skipIf(session === null)('on PostgreSQL', async () => {
    if (!servers || session === null) return;
    await using schema = await servers.makeSchema();
    await using former = openSession(schema.url);
    await writeStoreOf11(former);
    await using database = openDatabase(schema.url);
    await database.migrate();
    expect(await postgresParts(former)).toEqual(await postgresParts(session));
  });
});
