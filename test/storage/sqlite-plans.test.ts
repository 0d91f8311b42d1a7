/** What statements on the data file cost: how SQLite looks up what each of them asks for. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { openStorage } from '../../src/storage/open.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { strictRules } from './place.ts';
import { shopUnits } from './shop-units.ts';

/** What may be read whole: nobody has many of them, and no request does it. */
const small = new Set(['accounts', 'keys', 'imports', 'versions', 'sqlite_schema']);

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const path = join(folder.path, 'store.db');

/** The statements that a store prepares: it reads and writes with no others. */
async function statements(): Promise<string[]> {
  const queries = spyOn(Database.prototype, 'query');
  const options = { url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, create: true };
  await using store = await openStorage({ ...options, serving: false, units: shopUnits });
  // The writer's own, too.
  await store.write('addPets', []);
  const all = queries.mock.calls.map(([sql]) => sql);
  queries.mockRestore();
  return [...new Set(all)].filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)\b/.test(sql));
}

function planOf(database: Database, sql: string): string[] {
  const plan = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
  return plan.map(({ detail }) => detail);
}

const all = await statements();

test('every statement of the store is looked at', () => {
  for (const table of [
    'pets',
    'orders',
    'categories',
    'inventory',
    'inventory_by_category',
    'idempotent_answers',
    'keys',
    'accounts',
    'imports',
    'versions',
  ]) {
    const its = all.filter((sql) => new RegExp(`\\b${table}\\b`).test(sql));
    expect({ table, reads: its.length > 0 }).toEqual({ table, reads: true });
  }
  expect(all.length).toBeGreaterThan(40);
});

test('none reads a table that grows, and none sorts', () => {
  using database = new Database(path, { readonly: true });
  const costly = all.flatMap((sql) =>
    planOf(database, sql)
      .filter((step) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step))
      .filter((step) => !small.has(/^SCAN (\w+)/.exec(step)?.[1] ?? ''))
      .map((step) => ({ sql, step })),
  );
  // The first page of the categories: as many as it is long, in the order they are stored in.
  expect(costly).toEqual([
    { sql: 'SELECT id, name FROM categories ORDER BY id LIMIT ?', step: 'SCAN categories' },
  ]);
});

test('none counts rows, which takes as long as there are many, and nobody is answered meanwhile', () => {
  const counting = all.filter((sql) => /\b(?:count|sum|total|avg)\(/i.test(sql));
  if (counting.length > 0)
    throw new Error(
      `Keep the count beside the rows, as src/storage/sqlite/inventory.ts does:\n${counting.join('\n')}`,
    );
});

/** The ranges that a page is read from, by what it asks for. */
const ranges: readonly (readonly [asked: RegExp, range: string])[] = [
  [/\bcategory_id = /, 'pets USING INDEX pets_by_category (category_id=? AND status=? AND rowid>?)'],
  [/FROM pets WHERE status = /, 'pets USING INDEX pets_by_status (status=? AND rowid>?)'],
  [/FROM pets WHERE id > /, 'pets USING INTEGER PRIMARY KEY (rowid>?)'],
  [/\bpet_id = /, 'orders USING INDEX orders_by_pet (pet_id=? AND status=? AND rowid>?)'],
  [/FROM orders WHERE status = /, 'orders USING INDEX orders_by_status (status=? AND rowid>?)'],
  [/FROM orders WHERE id > /, 'orders USING INTEGER PRIMARY KEY (rowid>?)'],
  [/FROM categories WHERE id > /, 'categories USING INTEGER PRIMARY KEY (rowid>?)'],
];

test.each(ranges)('a page of %p begins at the cursor: %s', (asked, range) => {
  using database = new Database(path, { readonly: true });
  const pages = all.filter((sql) => / id > \?\d?.* ORDER BY id LIMIT /s.test(sql) && asked.test(sql));
  expect(pages.length).toBeGreaterThan(0);
  for (const sql of pages) {
    const searches = planOf(database, sql).filter((step) => step.startsWith('SEARCH'));
    expect(searches).toEqual(searches.map(() => `SEARCH ${range}`));
  }
});
