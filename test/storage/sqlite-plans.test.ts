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
const small = new Set(['imports', 'versions', 'operators', 'instances', 'sqlite_schema']);

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
    'operators',
    'sessions',
    'audit',
    'usage_minutes',
    'usage_hours',
    'usage_days',
    'instances',
  ]) {
    const its = all.filter((sql) => new RegExp(`\\b${table}\\b`).test(sql));
    expect({ table, reads: its.length > 0 }).toEqual({ table, reads: true });
  }
  expect(all.length).toBeGreaterThan(40);
});

/** What reads more all the same, and why it may. */
const exceptions: readonly (readonly [why: string, statement: RegExp])[] = [
  ['the migration folds all names', /^SELECT id, name FROM accounts$/],
  ['a new store has one account and no key', / FROM (?:keys|accounts) LIMIT [12]$/],
  [
    'a page in the order in which the rows are stored',
    /^SELECT id, name FROM categories ORDER BY id LIMIT \?$/,
  ],
  ['an account has as many rows as its keys', /FROM usage_(?:hours|days) WHERE account_id = \?1 AND/],
];

test('none reads a table that grows, and none sorts', () => {
  using database = new Database(path, { readonly: true });
  const costly = all.filter((sql) =>
    planOf(database, sql)
      .filter((step) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step))
      // Ids that are handed in, and what the file tells of itself.
      .filter((step) => !/^SCAN (?:json_each|pragma_\w+) VIRTUAL/.test(step))
      .some((step) => !small.has(/^SCAN (\w+)/.exec(step)?.[1] ?? '')),
  );
  const excepted = (sql: string) => exceptions.filter(([, statement]) => statement.test(sql));
  expect(costly.filter((sql) => excepted(sql).length === 0)).toEqual([]);
  // None is left over.
  expect(new Set(costly.flatMap(excepted))).toEqual(new Set(exceptions));
});

/** The requests of one key or account: of each period a row, and no more periods than are kept. */
const ofOwner = /FROM usage_(?:hours|days)\s+WHERE account_id = /;

test('none counts rows, which takes as long as there are many, and nobody is answered meanwhile', () => {
  const counting = all.filter((sql) => /\b(?:count|sum|total|avg)\(/i.test(sql) && !ofOwner.test(sql));
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
  [/FROM accounts WHERE id > /, 'accounts USING INTEGER PRIMARY KEY (rowid>?)'],
  [/FROM accounts WHERE \(closed_at /, 'accounts USING INDEX accounts_by_state (<expr>=? AND id>?)'],
  [/FROM keys WHERE id > /, 'keys USING INTEGER PRIMARY KEY (rowid>?)'],
  [/FROM keys WHERE account_id = /, 'keys USING INDEX keys_by_account (account_id=? AND rowid>?)'],
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

/** The same of pages in another order, and of what is found by more than a cursor. */
const searches: readonly (readonly [asked: RegExp, ...searches: string[]])[] = [
  [
    /FROM accounts WHERE {2}name_folded = /,
    'accounts USING INDEX accounts_by_name (name_folded=? AND id>?)',
    'accounts USING INDEX accounts_by_name (name_folded>? AND name_folded<?)',
  ],
  [
    /FROM accounts WHERE \(closed_at IS NULL\) = \?5 AND name_folded = /,
    'accounts USING INDEX accounts_by_state_and_name (<expr>=? AND name_folded=? AND id>?)',
    'accounts USING INDEX accounts_by_state_and_name (<expr>=? AND name_folded>? AND name_folded<?)',
  ],
  [/FROM audit INDEXED BY \w+\s+WHERE\s+at >= /, 'audit USING INDEX audit_by_time (at>? AND at<?)'],
  [
    /FROM audit INDEXED BY \w+\s+WHERE actor = /,
    'audit USING INDEX audit_by_actor (actor=? AND at>? AND at<?)',
  ],
  [
    /FROM audit INDEXED BY \w+\s+WHERE object = \? AND at/,
    'audit USING INDEX audit_by_object (object=? AND at>? AND at<?)',
  ],
  [
    /FROM audit INDEXED BY \w+\s+WHERE object = \? AND actor/,
    'audit USING INDEX audit_by_object_and_actor (object=? AND actor=? AND at>? AND at<?)',
  ],
  [/SELECT day, key_id, ok/, 'usage_days USING PRIMARY KEY ((day,key_id)>(?,?) AND day<?)'],
  [
    /SELECT day, key_id, deprecated/,
    'usage_days USING INDEX usage_days_deprecated ((day,key_id)>(?,?) AND day<?)',
  ],
  [/FROM usage_minutes\s+WHERE minute >= /, 'usage_minutes USING PRIMARY KEY (minute>? AND minute<?)'],
];

test.each(searches)('what %p asks for is found by an index: %s', (asked, ...expected) => {
  using database = new Database(path, { readonly: true });
  const [sql = '', ...others] = all.filter((statement) => asked.test(statement));
  expect(others).toEqual([]);
  const found = planOf(database, sql).filter((step) => step.startsWith('SEARCH'));
  expect(found).toEqual(expected.map((search) => `SEARCH ${search}`));
});
