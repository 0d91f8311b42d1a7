/** A store with more rows of each kind than a unit of work may change. */
import { openTables } from '../../src/app/store.ts';
import type { TableRow, TableValue } from '../../src/storage/storage.ts';
import { sqlColumns, sqlName } from '../../src/tables/sql.ts';
import { tables } from '../../src/tables/tables.ts';

/** Number of rows of each kind, of which a unit of work may change 1,000. */
export const filledRows = 1_100;
/** Rows with this time, in Unix ms, have expired. */
const longAgo = 1;

/** Webhooks of account 1, each with `filledRows` deliveries. All other accounts have webhooks that are behind. */
export const filledWebhooks = { pending: 1n, leased: 2n, finished: 3n, deleted: 4n } as const;
const owners = [1, 1, 1, 0];
const leasedUntil = 5;

type Values = Readonly<Record<string, TableValue | number>>;

const period = (name: string, counted: Values) => (at: number) => ({ [name]: at, ...counted });
const ofKey = {
  ...{ keyId: 1, accountId: 1, ok: 1, refused: 1, limited: 1, failed: 1, deprecated: 1, lastUsedAt: 1 },
};

/** The first three orders, of the first three animals, can be changed. All others are past orders of the fourth. */
const orderStatuses = ['placed', 'approved', 'delivered'];
const petStatuses = ['pending', 'pending', 'sold'];

function delivery(at: number): Values {
  const [pending, leased, finished, deleted] = Object.values(filledWebhooks);
  const webhookId = [pending, leased, finished, deleted][Math.floor((at - 1) / filledRows)] ?? 0n;
  const isFinished = webhookId === finished;
  return {
    ...{ id: at, webhookId, eventId: at, type: 'pet.created', attempts: '[]', createdAt: longAgo },
    status: isFinished ? 'succeeded' : 'pending',
    nextAttemptAt: isFinished ? null : 1,
    leasedUntil: webhookId === leased ? leasedUntil : null,
    finishedAt: isFinished ? longAgo : null,
  };
}

/** The row at a position, counted from 1, of each table. Columns that are omitted are null. */
const rowAt: Readonly<Record<string, (at: number) => Values>> = {
  accounts: (id) => ({ id, name: `a${id}`, nameFolded: `a${id}`, plan: 'free', createdAt: 1 }),
  keys: (id) => ({
    ...{
      id,
      accountId: id,
      name: 'k',
      fingerprint: `${id}`,
      lastFour: 'wxyz',
      scopes: 'pets:read events:read',
      createdAt: 1,
    },
  }),
  imports: (at) => ({ source: `${at}`, lastLine: 1, added: 1, rejected: 0, finished: 1 }),
  pets: (id) => ({ id, name: 'Rex', categoryId: id, status: petStatuses[id - 1] ?? 'available' }),
  categories: (id) => ({ id, name: 'Dogs' }),
  orders: (id) => ({
    ...{
      id,
      petId: Math.min(id, 4),
      status: orderStatuses[id - 1] ?? 'cancelled',
      createdAt: 1,
      updatedAt: 1,
    },
  }),
  events: (id) => ({ id, type: 'pet.created', data: '{}', createdAt: longAgo }),
  idempotent_answers: (at) => ({ id: `1:${at}`, request: 'r', status: 200, keptAt: longAgo }),
  operators: (id) => ({
    ...{ id, name: `o${id}`, role: 'admin', fingerprint: `${id}`, lastFour: 'wxyz', createdAt: 1 },
  }),
  audit: (id) => ({ id, at: 1, actor: 'cli:root', operation: 'liftBan', object: 'key:1' }),
  usage_minutes: period('minute', { operation: 'listPets', code: 'ok', requests: 1 }),
  usage_operation_hours: period('hour', { operation: 'listPets', code: 'ok', requests: 1 }),
  latency_minutes: period('minute', { bucket: 1, requests: 1 }),
  latency_hours: period('hour', { bucket: 1, requests: 1 }),
  usage_hours: period('hour', ofKey),
  usage_days: period('day', ofKey),
  usage_key_operations: period('day', { keyId: 1, operation: 'listPets', requests: 1 }),
  usage_reports: (at) => ({ process: `${at}`, number: 1, reportedAt: longAgo }),
  sessions: (at) => ({
    ...{ fingerprint: `${at}`, operatorId: 1, actor: 'operator:o1', role: 'admin', usedAt: 1, expiresAt: 1 },
  }),
  instances: (at) => ({ name: `${at}`, version: '1', startedAt: 1, seenAt: longAgo }),
  webhooks: (id) => ({
    ...{
      id,
      accountId: owners[id - 1] ?? id,
      url: 'https://shop.example/',
      types: 'pet.*',
      secret: 'sealed',
    },
    ...{ enabled: 1, position: 0, createdAt: 1 },
  }),
  deliveries: delivery,
};

/** Tables that are filled by other tables, or that do not grow. */
const notFilled = ['counters', 'inventory', 'inventory_by_category'];

const countOf = (table: string) => (table === 'deliveries' ? 4 * filledRows : filledRows);

function storedRow(table: (typeof tables)[number], at: number): TableRow {
  const values = rowAt[table.name]?.(at) ?? {};
  const stored = Object.fromEntries(Object.entries(values).map(([name, value]) => [sqlName(name), value]));
  return sqlColumns(table).map(({ name }) => {
    const value = stored[name] ?? null;
    return typeof value === 'number' ? BigInt(value) : value;
  });
}

/** Creates and fills a store. */
export async function fillStore(url: string): Promise<void> {
  await using store = await openTables(url, false);
  for (const table of tables.filter(({ name }) => !notFilled.includes(name))) {
    const count = countOf(table.name);
    for (let from = 1; from <= count; from += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, count - from + 1) }, (_, index) =>
        storedRow(table, from + index),
      );
      const conflict = await store.add(table, rows);
      if (conflict !== undefined) throw new Error(`Rows of "${table.name}" do not fit: ${conflict}.`);
    }
  }
  const counters = tables.filter(({ name }) => name === 'counters');
  const counted = tables.filter(({ isCounted }) => isCounted);
  for (const table of counters)
    await store.add(
      table,
      counted.map(({ name }) => [name, BigInt(countOf(name))]),
    );
}
