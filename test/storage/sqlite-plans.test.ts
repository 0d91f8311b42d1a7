/** Query plans of all SQLite statements on the data file. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { openStorage } from '../../src/app/store.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { strictRules } from './place.ts';
import { callsOf, type Readers, reads } from './reads.ts';
import { demand, sqliteSchema } from './schema.ts';
import { shopUnits } from './shop-units.ts';

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const path = join(folder.path, 'store.db');

/** The statements that a store prepares. */
async function preparedStatements(): Promise<string[]> {
  const queries = spyOn(Database.prototype, 'query');
  const options = { url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, create: true };
  await using store = await openStorage({ ...options, isServing: false, units: shopUnits });
  await store.write('addPets', []);
  for (const { call } of callsOf<Readers>(reads)) await call(store);
  const all = queries.mock.calls.map(([sql]) => sql);
  queries.mockRestore();
  return [...new Set(all)].filter((sql) => /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(sql));
}

const statements = await preparedStatements();
const schema = sqliteSchema(path);
using reader = new Database(path, { readonly: true });
const plans = new Map(
  statements.map((sql) => {
    const steps = reader.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
    return [sql, steps.map(({ detail }) => detail)];
  }),
);

/** Tables that may be scanned, because they stay small and no request scans them. */
const small = new Set([
  ...['imports', 'versions', 'operators', 'instances', 'usage_reports'],
  ...['sqlite_schema', 'sqlite_sequence', 'pragma_table_info'],
]);

/** Request counts and latencies. Each minute or hour has one row per operation and code, or per latency bucket. */
const ofHistory =
  /sum\(requests\) AS requests FROM (?:usage_minutes|usage_operation_hours|latency_\w+)\s+WHERE/;

type Exceptions = readonly (readonly [reason: string, statement: RegExp])[];

/** A query that counts at most as many rows as its limit. */
const bounded =
  /^SELECT count\(\*\) AS count FROM \(SELECT 1 FROM \w+ WHERE [^()]*(?:\(closed_at IS NULL\) = \?1 )?LIMIT \?2\)$/;

/** A page of rows as JSON, whose number is limited. */
const ofPage = /^SELECT json_group_array\(.*\) AS count FROM \(SELECT .* LIMIT \?\d\)$/s;

const mayScan: Exceptions = [
  ['the rows that are counted are those of a limit', bounded],
  [
    'some leases are ended at a time',
    /^UPDATE deliveries SET leased_until = NULL, next_attempt_at = max\(\?1/,
  ],
  [
    'after a lost reply, the leased rows are examined by an index that contains only these',
    /^UPDATE deliveries SET leased_until = NULL, next_attempt_at = \?2 WHERE \(id\) IN \(SELECT id FROM deliveries WHERE leased_until IN/,
  ],
  ['sorts at most 64 due deliveries of each scope', /^UPDATE deliveries SET leased_until = \?3/],
  ['once per start, the accounts of webhooks', /^INSERT INTO webhook_paces/],
  ['once per start, the times of successes', /^UPDATE webhooks SET succeeded_at = \?1\s/],
  ['the migration folds all names', /^SELECT id, name FROM accounts$/],
  ['the first page begins at the first row', /SELECT [^()]* FROM \w+ ORDER BY \w+(?: DESC)? LIMIT \?1\)?$/],
  ['the rows of a page become JSON', ofPage],
  [
    'deleted webhooks are few',
    /^SELECT [^()]* FROM \(SELECT \* FROM webhooks WHERE account_id <> 0\) AS webhooks ORDER BY/,
  ],
  [
    'the oldest events are the first rows',
    /^WITH oldest AS \(SELECT [^()]* FROM events ORDER BY id LIMIT \?2\)/,
  ],
  ['an account has as many rows as its keys', /FROM usage_(?:hours|days) WHERE account_id = \?1 AND/],
  ['a history is summed over 240 minutes or hours at once', ofHistory],
];

/** Conditions that need no index. */
const mayFilter: Exceptions = [
  [
    'a search examines the names of a span of ids',
    /^SELECT id FROM \w+ WHERE id > \?1 AND id <= \?2 AND \(instr/,
  ],
  ['some events behind a position are examined', /^INSERT INTO deliveries .* FROM events/s],
  ['an account has as many rows as its keys', /FROM usage_(?:hours|days) WHERE account_id = \?1 AND/],
];

/** A statement as in the source, where parameters have no unary plus. */
const written = (sql: string) => sql.replaceAll('+?', '?');

/** Fails for each statement found that is not an exception, and for each unused exception. */
function demandNone(what: string, found: readonly string[], exceptions: Exceptions): void {
  const excepted = (sql: string) => exceptions.filter(([, statement]) => statement.test(written(sql)));
  demand(
    what,
    found
      .filter((sql) => excepted(sql).length === 0)
      .map((sql) => `${sql}\n  ${plans.get(sql)?.join('\n  ')}`),
  );
  const needed = new Set(found.flatMap(excepted));
  demand(
    'Remove the exception:',
    exceptions.filter((one) => !needed.has(one)).map(([reason]) => reason),
  );
}

test('every table is read by a tested statement', () => {
  const read = (table: string) => statements.some((sql) => new RegExp(`\\b${table}\\b`).test(sql));
  demand(
    'No statement was prepared for the table:',
    Object.keys(schema).filter((table) => table !== 'counters' && !read(table)),
  );
  expect(statements.length).toBeGreaterThan(40);
});

test('no statement sorts or scans a table that grows', () => {
  const costly = statements.filter((sql) =>
    plans
      .get(sql)
      ?.filter((step) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step))
      // Ignores scans of ids passed as parameters, and of information about the file.
      .filter(
        (step) => !/^SCAN (?:CONSTANT ROW|\d+-ROW VALUES CLAUSE|(?:json_each|pragma_\w+) VIRTUAL)/.test(step),
      )
      .some((step) => !small.has(/^SCAN (\w+)/.exec(step)?.[1] ?? '')),
  );
  demandNone('Add an index whose order is that of the statement:', costly, mayScan);
});

/** The conditions of a statement, written as a query plan shows indexed conditions. */
function conditionsOf(sql: string): string[] {
  const where = /\bWHERE\b.*/s.exec(sql)?.[0] ?? '';
  const conditions = where.matchAll(
    /(?<![\w.(]\w*)(?:\w+\.)?(\w+|\(closed_at IS NULL\)) (=|>=?|<=?) (?:\+?\?|'|coalesce\()/gi,
  );
  return [...conditions].map(([, column = '', operator = '']) => {
    const name = column.startsWith('(') ? '<expr>' : column;
    return `${name}${operator[0]}?`;
  });
}

/**
 * True if a step of the query plan uses an index for the condition. A lookup by the whole primary key satisfies
 * every condition, because it finds at most one row.
 */
function answers(step: string, condition: string): boolean {
  const [, table, answered = ''] = /^SEARCH (\w+) .*\((.*)\)$/.exec(step) ?? [];
  if (table === undefined) return false;
  const key = schema[table]?.key ?? [];
  const named = answered.replace(/\browid\b/, key[0] ?? 'rowid').split(' AND ');
  return named.includes(condition) || `${named}` === `${key.map((column) => `${column}=?`)}`;
}

test('no parameter makes SQLite prepare a statement again', () => {
  expect(statements.filter((sql) => sql.includes('+?')).length).toBeGreaterThan(40);
  demand(
    'Use the pattern of PreparedDatabase in src/storage/sqlite/database.ts:',
    statements.filter((sql) => /(?:[=<>]|\b(?:LIMIT|OFFSET))\s*\?/i.test(sql)),
  );
});

test('every condition of a statement uses an index', () => {
  const unanswered = statements.filter((sql) => {
    const steps = plans.get(sql) ?? [];
    if (steps.some((step) => small.has(/^SCAN (\w+)/.exec(step)?.[1] ?? ''))) return false;
    return !conditionsOf(sql).every((condition) => steps.some((step) => answers(step, condition)));
  });
  demandNone('Add an index that has the column before those of the order:', unanswered, mayFilter);
});

/** There is one version per resource, and one highest id per table. */
const ofVersions = /FROM (?:versions|sqlite_sequence)\)/;

/** Requests by one key or account. There is one row per period, and the number of periods is bounded. */
const ofOwner = /FROM usage_(?:hours|days)\s+WHERE account_id = /;

test('no statement counts an unbounded number of rows', () => {
  demand(
    'Keep the count beside the rows, as src/storage/sqlite/entities/inventory.ts does:',
    statements.filter(
      (sql) =>
        /\b(?:count|sum|total|avg)\(/i.test(sql) &&
        ![ofOwner, ofHistory, ofPage, ofVersions, bounded].some((known) => known.test(written(sql))),
    ),
  );
});
