/** References between tables are the same in both engines, and are enforced. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openTables } from '../../src/app/store.ts';
import { keys } from '../../src/tables/accounts.ts';
import { sqlName } from '../../src/tables/sql.ts';
import { tables } from '../../src/tables/tables.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { openSession } from './postgres-kit.ts';
import { rowsOf } from './sqlite-files.ts';

await using opened = new AsyncDisposableStack();
const servers = opened.use((await testServers()) ?? null);
const folder = opened.use(await temporaryFolder());
const schema = servers && opened.use(await servers.makeSchema());
const kept = opened.move();
afterAll(() => kept.disposeAsync());

const path = join(folder.path, 'store.db');
const stores: [engine: string, url: string][] = [['SQLite', `sqlite:${path}`]];
if (schema) stores.push(['PostgreSQL', schema.url]);

interface Reference {
  readonly from: string;
  readonly column: string;
  readonly to: string;
}

const line = ({ from, column, to }: Reference) => `${from}.${column} → ${to}`;

async function declared(engine: string, url: string): Promise<string[]> {
  await (await openTables(url, false))[Symbol.asyncDispose]();
  if (engine === 'SQLite') {
    const references = rowsOf<Reference>(
      path,
      `SELECT tables.name AS "from", keys."from" AS "column", keys."table" AS "to"
       FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys WHERE tables.type = 'table'`,
    );
    return references.map(line).sort();
  }
  await using session = openSession(url);
  const references = await session<Reference[]>`
    SELECT conrelid::regclass::text AS "from", attname AS "column", confrelid::regclass::text AS "to"
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`;
  return references.map(line).sort();
}

describe.each(stores)('on %s', (engine, url) => {
  test('the schema declares the references in the table descriptions', async () => {
    const described = tables.flatMap(({ name, references }) =>
      Object.entries(references).map(([column, to]) => `${name}.${sqlName(column)} → ${to}`),
    );
    expect(await declared(engine, url)).toEqual(described.sort());
  });

  test('a row that refers to a missing row is rejected', async () => {
    await using rows = await openTables(url, false);
    const key = [1n, 999n, 'till', 'f', 'wxyz', 'pets:read', 1n, null, null, null];
    expect(await rows.add(keys, [key])).toBe('missing');
    expect(await rows.count(keys)).toBe(0);
  });
});
