/**
 * No unit of work changes more than 1,000 rows, however many rows the store has. A unit that grows with the data blocks
 * all other writes to an embedded store, and exceeds the statement timeout on PostgreSQL.
 */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { SQL } from 'bun';
import type { Caller } from '../../src/domain/caller.ts';
import { leaseLimits } from '../../src/domain/delivery.ts';
import { ImportOperations, type ImportRow } from '../../src/operations/imports/imports.ts';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import { UsageRecorder } from '../../src/operations/observability/usage-recorder.ts';
import { type Store, units } from '../../src/operations/units.ts';
import { reencryptSecrets } from '../../src/operations/webhook-secrets.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import { schemaChanges } from '../../src/storage/schema/schema.ts';
import { SqliteTransaction } from '../../src/storage/sqlite/transaction.ts';
import { groupIntoRuns } from '../../src/storage/unit-of-work.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { leaseRequest } from '../support/webhooks.ts';
import { filledRows, filledWebhooks, fillStore } from './filled-store.ts';
import { openSession } from './postgres-kit.ts';
import { type Call, sampleCalls, type UnitName } from './sample-calls.ts';
import { newPet } from './samples.ts';

const maxRows = 1_000;

interface Counted {
  readonly rows: number;
  readonly outcome: unknown;
}

/** Runs a unit in a transaction that is rolled back, and counts the changed rows, including cascades and triggers. */
type CountRows = (call: Call) => Promise<Counted>;

const rolledBack = Symbol('rolled back');

function onSqlite(path: string): CountRows & Disposable {
  const database = new Database(path, { strict: true, safeIntegers: true });
  database.run('PRAGMA foreign_keys = ON');
  const changed = () =>
    Number(database.query<{ rows: bigint }, []>('SELECT total_changes() AS rows').all()[0]?.rows);
  const run: CountRows = async ([name, input]) => {
    const transaction = new SqliteTransaction(database);
    database.run('BEGIN IMMEDIATE');
    try {
      const before = changed();
      let outcome: unknown;
      for (const each of groupIntoRuns(units, [{ name, input }])) {
        [outcome] = await each.start(transaction.tables);
        transaction.keepUnit(each.writes);
      }
      transaction.finishGroup();
      return { rows: changed() - before, outcome };
    } finally {
      database.run('ROLLBACK');
    }
  };
  return Object.assign(run, { [Symbol.dispose]: () => database.close() });
}

async function changedRows(sql: SQL): Promise<number> {
  const [row] = await sql<{ rows: bigint }[]>`
    SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint AS rows
    FROM pg_stat_xact_user_tables WHERE schemaname = current_schema()`;
  return Number(row?.rows);
}

function onPostgres(session: SQL): CountRows {
  return async ([name, input]) => {
    let counted: Counted | undefined;
    const work = session.begin(async (sql) => {
      const before = await changedRows(sql);
      const transaction = new PostgresTransaction(async (statement) => statement(sql), new Map());
      let outcome: unknown;
      for (const each of groupIntoRuns(units, [{ name, input }]))
        [outcome] = await each.start(transaction.tables);
      await transaction.events.flush();
      counted = { rows: (await changedRows(sql)) - before, outcome };
      throw rolledBack;
    });
    await work.catch((error) => {
      if (error !== rolledBack) throw error;
    });
    return counted as Counted;
  };
}

const now = 1_790_000_000_000;
const write = { params: {}, preconditions: {}, now };
const caller = { accountId: 1, scopes: ['webhooks:write', 'pets:read', 'events:read'] } as const;
const webhook = (webhookId: bigint) => ({ ...write, params: { webhookId }, caller });
const events = { oldest: 1n, last: BigInt(filledRows) };

function sample(name: UnitName): Call {
  const found = sampleCalls.find((call) => call[0] === name);
  if (found === undefined) throw new Error(`test/storage/sample-calls.ts has no call of ${name}.`);
  return found;
}

/** Outcomes of as many attempts as a unit stores, all for leased deliveries. */
const settled = Array.from({ length: leaseLimits.deliveries }, (_, index) => ({
  ...{ id: BigInt(filledRows + 1 + index), webhookId: filledWebhooks.leased, leasedUntil: 5, attempts: '[]' },
  ...({ status: 'succeeded', nextAttemptAt: null, finishedAt: now } as const),
}));
const take = leaseRequest(now, { leasedUntil: now + 9, room: leaseLimits.deliveries, after: 3n });
const ofPet = (petId: bigint) => ({ ...write, params: { petId } });
const ofOrder = (orderId: bigint) => ({ ...write, params: { orderId } });
const operator = {
  name: 'new',
  role: 'admin',
  fingerprint: 'new',
  lastFour: 'wxyz',
  createdAt: now,
} as const;

/** Calls whose samples do not fit the filled store, or would not touch as many rows as possible. */
const calls: Partial<Record<UnitName, Call>> = {
  updatePet: ['updatePet', { ...ofPet(5n), body: { name: 'Max', categoryId: 9n, status: 'sold' } }],
  deletePet: ['deletePet', ofPet(4n)],
  deleteCategory: ['deleteCategory', { ...write, params: { categoryId: 1n } }],
  placeOrder: ['placeOrder', { ...write, body: { petId: 4n } }],
  approveOrder: ['approveOrder', ofOrder(1n)],
  deliverOrder: ['deliverOrder', ofOrder(2n)],
  cancelOrder: ['cancelOrder', ofOrder(1n)],
  returnOrder: ['returnOrder', ofOrder(3n)],
  once: [
    'once',
    {
      operationId: 'redeliverEvents',
      input: { ...webhook(filledWebhooks.pending), events, body: { after: 0n }, now: 0 } as never,
      once: { accountId: 1, key: 'new', request: 'r' },
      at: now,
    },
  ],
  createOperator: ['createOperator', operator],
  revokeOperator: ['revokeOperator', { id: 1, at: now }],
  useSession: ['useSession', { fingerprint: '1', at: now }],
  removeSession: ['removeSession', '1'],
  dispatchDeliveries: ['dispatchDeliveries', { settled, lease: take }],
  releaseDeliveries: ['releaseDeliveries', now],
  rescheduleDeliveries: ['rescheduleDeliveries', { after: 0n, now, latestLease: 0, latestRetry: 0 }],
  pruneDeliveries: ['pruneDeliveries', now],
  trimDeliveries: ['trimDeliveries', { keep: 1, after: null }],
  pruneUsage: [
    'pruneUsage',
    { minutes: now, history: now, hours: now, days: now, reports: now, instances: now },
  ],
  disableWebhook: [
    'disableWebhook',
    {
      delivery: {
        id: BigInt(filledRows + 1),
        webhookId: filledWebhooks.leased,
        leasedUntil: 5,
        url: 'https://shop.example/',
      },
      ...{ reason: 'gone', since: now, now },
    },
  ],
  updateWebhook: [
    'updateWebhook',
    { ...webhook(1n), endpoint: { mistake: undefined }, events, body: { enabled: false } },
  ],
  deleteWebhook: ['deleteWebhook', webhook(filledWebhooks.finished)],
  rotateWebhookSecret: ['rotateWebhookSecret', { ...webhook(1n), secret: 'other' }],
  // At this time, no pending delivery is due.
  redeliverEvents: [
    'redeliverEvents',
    { ...webhook(filledWebhooks.pending), events, body: { after: 0n }, now: 0 },
  ],
  redeliver: [
    'redeliver',
    {
      ...write,
      caller,
      params: { webhookId: filledWebhooks.finished, deliveryId: BigInt(2 * filledRows + 1) },
    },
  ],
  redeliverAccountEvents: [
    'redeliverAccountEvents',
    { ...write, params: { webhookId: filledWebhooks.pending }, events, body: { after: 0n }, now: 0 },
  ],
  redeliverAccountDelivery: [
    'redeliverAccountDelivery',
    { ...write, params: { webhookId: filledWebhooks.finished, deliveryId: BigInt(2 * filledRows + 1) } },
  ],
  enableWebhookByOperator: ['enableWebhookByOperator', { id: 3n, lastEvent: 9n, now }],
  pruneEvents: ['pruneEvents', now],
  audited: [
    'audited',
    {
      ...{ unit: 'revokeOperator', input: { id: 1, at: now }, actor: 'cli:root', at: now },
      once: { accountId: 0, key: 'k', request: 'r', sealed: null, at: now },
    },
  ],
};

/** Units that change nothing in a filled store, each with the reason. */
const withoutEffect: Partial<Record<UnitName, string>> = {
  addPaces: 'no webhook is older than paces',
  createFirstKey: 'there are other accounts',
  enableWebhookByOperator: 'the webhook is enabled',
  reopenAccount: 'the account is open',
};

type Write = Store['write'];

/** Imports animals, each in a different category. */
async function importPets(write: Write): Promise<void> {
  const context = { store: { imports: { find: () => undefined }, write }, clock: new FakeClock() };
  const imports = new ImportOperations({ ...context, actor: { kind: 'cli', name: 'root' } } as never);
  const rows = async function* (): AsyncGenerator<ImportRow[]> {
    yield Array.from({ length: filledRows }, (_, index) => {
      return { line: index + 1, endLine: index + 1, pet: newPet('new', 'available', BigInt(-1 - index)) };
    });
  };
  const task = {
    source: undefined,
    stored: undefined,
    rows: rows(),
    signal: new AbortController().signal,
  };
  for await (const _ of imports.add(task));
}

/** Records the usage of 300 keys, each with 30 operations. */
async function recordUsage(write: Write): Promise<void> {
  const clock = new FakeClock();
  const counter = new TrafficCounter(clock);
  for (let keyId = 1; keyId <= 300; keyId++)
    for (let operation = 0; operation < 30; operation++) {
      const counted = { operation: `operation ${operation}`, isDeprecated: false };
      counter.keys.count({ keyId, accountId: keyId } as Caller, 0, counted, 0);
    }
  await using recorder = new UsageRecorder({
    store: { write, health: () => undefined } as never,
    ...{ counter, clock, randomBytes, prunes: false, events: { areRecorded: true, keepMs: 0 } },
    instance: { name: 'one', version: '1', startedAt: 1 },
    notice: () => undefined,
  });
  await recorder.record();
}

/** Re-encrypts as many secrets as there are rows. */
async function reseal(write: Write): Promise<void> {
  const all = Array.from({ length: filledRows }, (_, index) => {
    return { id: BigInt(index + 1), secret: 'sealed', formerSecret: undefined };
  });
  const list = (after = 0n, limit = 0) => all.filter(({ id }) => id > after).slice(0, limit);
  const store = { webhooks: { list }, write } as never;
  await reencryptSecrets(store, () => 'resealed', new AbortController().signal);
}

/** Units whose callers divide the work: run by their callers, with more rows than one unit may change. */
const divided: Partial<Record<UnitName, (write: Write) => Promise<void>>> = {
  commitImport: importPets,
  recordUsage,
  resealWebhooks: reseal,
};

const servers = await testServers();
await using opened = new AsyncDisposableStack();
opened.use(servers ?? null);
const folder = opened.use(await temporaryFolder());
const path = join(folder.path, 'store.db');
await fillStore(`sqlite:${path}`);
const engines: [string, CountRows][] = [['SQLite', opened.use(onSqlite(path))]];
if (servers !== undefined) {
  const { url } = opened.use(await servers.makeSchema());
  await fillStore(url);
  const session = opened.use(openSession(url));
  await session`
    INSERT INTO unnumbered_events (type, data, created_at)
    SELECT 'pet.created', '{}', 1 FROM generate_series(1, ${filledRows})`;
  engines.push(['PostgreSQL', onPostgres(session)]);
}
const kept = opened.move();
afterAll(() => kept.disposeAsync());

describe.each(engines)('on %s', (_engine, countRows) => {
  test.each(Object.keys(units) as UnitName[])(`%s changes at most ${maxRows} rows`, async (name) => {
    const all: number[] = [];
    const run = divided[name];
    if (run === undefined) all.push((await countRows(calls[name] ?? sample(name))).rows);
    else
      await run((async (unit: UnitName, input: unknown) => {
        const { rows, outcome } = await countRows([unit, input] as never);
        all.push(rows);
        return outcome;
      }) as Write);
    expect(Math.max(...all)).toBeLessThanOrEqual(maxRows);
    if (!(name in withoutEffect)) expect(Math.max(...all)).toBeGreaterThan(0);
  });
});

/** The schema changes of versions 1.0.0 and 1.1.0. Those of 1.1.0 change every row of some tables. */
const formerChanges = 2;
/** Exceptions are tables of a few rows, and usage by hour, which is computed from minutes that are kept for a few days. */
const changesRows =
  /\bUPDATE\s+(?!counters\b|versions\b|store\b)\w+\s+SET\b|\bDELETE\s+FROM\b|\bINSERT\s+INTO\s+(?!former_instances\b|usage_operation_hours\b)[^;]*\bSELECT\b/i;

test('an upgrade changes no existing rows, because a step is a single transaction', () => {
  const statements = schemaChanges
    .slice(formerChanges)
    .flatMap(({ sqlite, postgres, postgresTables = '' }) => [sqlite, postgres, postgresTables])
    // The bodies of functions run later.
    .flatMap((step) => step.replaceAll(/\$\$.*?\$\$/gs, '').split(';'));
  expect(statements.filter((statement) => changesRows.test(statement))).toEqual([]);
});
