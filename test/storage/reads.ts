/**
 * A call to every read method of a store, with every filter. The compiler reports missing reads and filters, so that
 * the measurements of `postgres-pages.test.ts` and `sqlite-plans.test.ts` are complete.
 */
import { orderStatuses } from '../../src/domain/order-status.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import type { AuditFilter } from '../../src/storage/admin.ts';
import type { EntityReads } from '../../src/storage/entity.ts';
import type { AccountFilter, PetFilter, Storage } from '../../src/storage/storage.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { accounts, keys } from '../../src/tables/accounts.ts';
import { imports } from '../../src/tables/imports.ts';
import { audit, sessions } from '../../src/tables/operators.ts';
import { pets } from '../../src/tables/pets.ts';
import type { Column, FilterOf, KeyOf, Table } from '../../src/tables/table.ts';
import { type Entities, entities } from '../../src/tables/tables.ts';
import { deliveries } from '../../src/tables/webhooks.ts';

/** Number of rows in each table that have the same values. All other rows differ. */
export const common = 3_000;
export const rows = 4_500;
/** Number of rows per page. */
export const limit = 21;

/** Methods that respond from memory or do not read tables. */
type NoReader =
  | 'clock'
  | 'created'
  | 'encryption'
  | 'limits'
  | 'facts'
  | 'health'
  | 'lost'
  | 'maxStaleMs'
  | 'serveWorker';

export type Readers = Omit<Storage, NoReader | 'write' | typeof Symbol.asyncDispose>;

type Calls<Part> = {
  readonly [Method in keyof Part]: Part[Method] extends (...args: infer Args) => unknown
    ? readonly Args[]
    : never;
};

/** Read methods available to units of work within their transaction. */
export type Finders = {
  readonly [Name in keyof Transaction as keyof FindersOf<Transaction[Name]> extends never
    ? never
    : Name]: FindersOf<Transaction[Name]>;
};

type FindersOf<Part> = {
  readonly [Method in keyof Part as Method extends `find${string}` ? Method : never]: Part[Method];
};

/** Every combination of these values, including none. */
function filters<Filter extends object>(
  values: {
    readonly [Name in keyof Filter]-?: readonly Exclude<Filter[Name], undefined>[];
  },
): Filter[] {
  return Object.entries<readonly unknown[]>(values).reduce<Filter[]>(
    (found, [name, some]) =>
      found.flatMap((filter) => [filter, ...some.map((value) => ({ ...filter, [name]: value }))]),
    [{} as Filter],
  );
}

/** List calls with every combination of these positions and filters. */
function pages<Position, Filter>(positions: readonly Position[], all: readonly Filter[]) {
  return positions.flatMap((after) =>
    all.map((filter) => [after, limit, filter] as [Position, number, Filter]),
  );
}

const hour = 3_600_000;
const day = 24 * hour;
const many = Array.from({ length: 100 }, (_, index) => index * 119 + 1);
const last = rows - 10;
const positions = [0, common - 10, last];

/** Lookups by key and by unique columns. */
function findsOf<T>(described: T, [key]: readonly KeyOf<T>[], looked?: unknown) {
  const lookups = Object.keys((described as Table).lookups);
  return { find: [[key]], findBy: lookups.map((name) => [name, looked]) } as unknown as Calls<
    FindersOf<EntityReads<T>>
  >;
}

/** Lookups and lists, with every combination of filters. */
function readsOf<T>(
  described: T,
  some: readonly KeyOf<T>[],
  values: { readonly [Name in keyof FilterOf<T>]-?: readonly Exclude<FilterOf<T>[Name], undefined>[] },
  looked?: unknown,
): Calls<EntityReads<T>> {
  const all = filters<FilterOf<T> & object>(values as never);
  return {
    ...findsOf(described, some, looked),
    findMany: [[some]],
    list: pages([undefined, ...some], all),
    listNewest: pages([undefined, ...some], all),
  } as Calls<EntityReads<T>>;
}

/** Values of a column: its enumerated values, or the values of two rows. */
function valuesOf({ type, values, read }: Column): readonly unknown[] {
  if (values !== undefined) return values;
  const some = [1, last];
  if (type === 'text') return some.map(String);
  return read === undefined ? some.map(BigInt) : some;
}

const filterValues = ({ columns, filters: names }: Table) =>
  Object.fromEntries(names.map((name) => [name, valuesOf(columns[name] as Column)])) as never;

/** Calls for each fully described table. */
function ofEntities<Made>(make: (table: Table, some: readonly never[], looked: unknown) => unknown): {
  readonly [Name in keyof Entities]: Made & never;
} {
  const made = Object.entries<Table>(entities as never).map(([name, table]) => {
    const { columns, key, lookups } = table;
    const [lookup] = Object.values(lookups).flatMap(({ by }) => by);
    const looked = lookup === undefined ? undefined : valuesOf(columns[lookup] as Column).at(-1);
    return [name, make(table, valuesOf(columns[key[0] ?? ''] as Column) as never[], looked)];
  });
  return Object.fromEntries(made);
}

const ids = positions.map(BigInt);
const owners = [1, last].flatMap((id) => [{ keyId: id }, { accountId: id }]);
const ranges = [0, common - 50, last].map((since) => ({ since, until: since + 60 }));

const steps = ranges.flatMap((range) =>
  (['minute', 'hour'] as const).map((by) => ({ by, stepMs: 10, ...range })),
);

export const reads: { readonly [Name in keyof Readers]: Calls<Readers[Name]> } = {
  ...ofEntities((table, some, looked) => readsOf(table, some, filterValues(table), looked)),
  pets: {
    ...readsOf(pets, ids, filterValues(pets)),
    listJson: pages(
      [undefined, ...ids],
      filters<PetFilter>({ ids: [many.map(BigInt)], status: petStatuses, categoryId: [1n, BigInt(last)] }),
    ),
    inventory: [[], [1n], [BigInt(last)]],
    categoriesInUse: [undefined, 1n, BigInt(last)].map((after) => [after, limit]),
  },
  accounts: {
    ...readsOf(accounts, many, {}),
    search: pages(
      [undefined, ...positions.map((id) => ({ id, name: id < common ? 'Many' : `name ${id}` }))],
      filters<AccountFilter>({ name: ['m', 'MANY', 'name 1', `name ${last}`], isClosed: [true, false] }),
    ),
  },
  keys: {
    ...readsOf(keys, many, { accountId: [1, last] }, last),
    findCaller: [[`${last}`]],
    fingerprints: [[last, limit]],
  },
  events: {
    list: ids.map((after) => [after, limit]),
    findMany: [[[1n]]],
    newest: [[limit]],
    bounds: [[]],
  },
  deliveries: {
    ...readsOf(deliveries, ids, filterValues(deliveries)),
    backlog: [[]],
    sendable: [[many, last]],
  },
  imports: { ...readsOf(imports, ['7'], {}), findParts: [['7']] },
  sessions: readsOf(sessions, [`${last}`], {}),
  audit: {
    list: pages(
      [undefined, 10n, BigInt(common + 1), BigInt(last)],
      filters<AuditFilter>({
        since: [common - 10],
        until: [common],
        actor: ['many', `actor ${last}`],
        object: ['many', `object ${last}`],
        operation: ['updateAccount', `operation ${last}`],
      }),
    ),
  },
  usage: {
    minutes: ranges.map((range) => [range]),
    counts: steps.map((each) => [each]),
    latencies: steps.map((each) => [each]),
    operations: steps.map((each) => [each]),
    keyOperations: [1, last].map((keyId) => [keyId, { since: last - 10, until: last + 10 }]),
    periods: owners.flatMap((owner) =>
      ranges.flatMap(({ since, until }) => [
        [owner, 'hour', { since: since * hour, until: until * hour }],
        [owner, 'day', { since: since * day, until: until * day }],
      ]),
    ),
    topKeys: [
      ['all', { since: last * day, until: rows * day }, 10],
      ['deprecated', { since: 0, until: rows * day }, 10],
    ],
    keysOn: [[last * day, 0, limit]],
    lastUses: [[[1, last, 40_000], (common - 10) * day]],
  },
  search: {
    containing: (['accounts', 'keys', 'pets'] as const).map((of) => [
      of,
      'a',
      { after: BigInt(last - limit), until: BigInt(last) },
      limit,
    ]),
    nextId: (['accounts', 'keys', 'pets'] as const).map((of) => [of, BigInt(last - limit)]),
    ordersReferring: [['cart', limit]],
    countOrders: orderStatuses.map((status) => [status, limit]),
    countClosedAccounts: [[limit]],
  },
};

export const finds: { readonly [Name in keyof Finders]: Calls<Finders[Name]> } = {
  ...ofEntities(findsOf),
  pets: { find: [[7n]] },
  storedResponses: { find: [[[{ accountId: 1, key: 'key' }], 0]] },
  accounts: findsOf(accounts, positions),
  keys: findsOf(keys, positions, last),
  imports: findsOf(imports, ['7']),
  audit: findsOf(audit, ids),
  sessions: findsOf(sessions, [`${last}`]),
};

/** Returns the name of each call, and a function that makes it. */
export function callsOf<Parts extends object>(
  all: object,
): { readonly name: string; readonly call: (parts: Parts) => unknown }[] {
  return Object.entries(all).flatMap(([part, methods]) =>
    Object.entries<readonly unknown[][]>(methods).flatMap(([method, calls]) =>
      calls.map((args) => ({
        name: `${part}.${method}(${args.map(textOf).join(', ')})`,
        call: (parts) => {
          const owner = parts[part as keyof Parts] as Record<string, (...values: unknown[]) => unknown>;
          return owner[method]?.(...args);
        },
      })),
    ),
  );
}

function textOf(value: unknown): string {
  const text =
    JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part)) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
