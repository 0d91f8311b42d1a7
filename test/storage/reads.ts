/**
 * A call of every read that a store offers, with every filter. The compiler reports a read or a filter without one: what
 * `postgres-pages.test.ts` and `sqlite-plans.test.ts` measure is complete.
 */
import { orderStatuses } from '../../src/domain/order-status.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import type { AuditFilter } from '../../src/storage/admin.ts';
import type { AccountFilter, OrderFilter, PetFilter, Storage } from '../../src/storage/storage.ts';
import type { Transaction } from '../../src/storage/transaction.ts';

/** Rows of each table of a filled store: the first `common` are alike, and each of the others is another one. */
export const common = 8_000;
export const rows = 12_000;
/** Rows of a page. */
export const limit = 21;

/** What answers from memory, or reads no table. */
type NoReader =
  | 'created'
  | 'encryption'
  | 'limits'
  | 'facts'
  | 'health'
  | 'lost'
  | 'staleAtMostMs'
  | 'serveWorker';

export type Readers = Omit<Storage, NoReader | 'write' | typeof Symbol.asyncDispose>;

type Calls<Part> = {
  readonly [Method in keyof Part]: Part[Method] extends (...args: infer Args) => unknown
    ? readonly Args[]
    : never;
};

/** What units find within their transaction. */
export type Finders = {
  readonly [Name in keyof Transaction as keyof FindersOf<Transaction[Name]> extends never
    ? never
    : Name]: FindersOf<Transaction[Name]>;
};

type FindersOf<Part> = {
  readonly [Method in keyof Part as Method extends `find${string}` ? Method : never]: Part[Method];
};

/** Every combination of these values, and of none. */
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

/** Calls of a list with each of these positions and filters. */
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

const accountFilters = filters<AccountFilter>({
  name: ['m', 'MANY', 'name 1', `name ${last}`],
  isClosed: [true, false],
});
const owners = [1, last].flatMap((id) => [{ keyId: id }, { accountId: id }]);
const ranges = [0, common - 50, last].map((since) => ({ since, until: since + 60 }));

export const reads: { readonly [Name in keyof Readers]: Calls<Readers[Name]> } = {
  pets: {
    find: [[7n]],
    list: pages(
      positions.map(BigInt),
      filters<PetFilter>({ ids: [many.map(BigInt)], status: petStatuses, categoryId: [1n, BigInt(last)] }),
    ),
    inventory: [[], [1n], [BigInt(last)]],
  },
  categories: {
    find: [[7n]],
    list: [
      [undefined, limit],
      [BigInt(common), limit],
    ],
  },
  orders: {
    find: [[7n]],
    list: pages(
      positions.map(BigInt),
      filters<OrderFilter>({ status: orderStatuses, petId: [1n, BigInt(last)] }),
    ),
  },
  accounts: {
    find: [[7]],
    findMany: [[many]],
    list: pages(
      [undefined, ...positions.map((id) => ({ id, name: id < common ? 'Many' : `name ${id}` }))],
      accountFilters,
    ),
  },
  keys: {
    find: [[7]],
    findMany: [[many]],
    findCaller: [[`${last}`]],
    fingerprints: [[last, limit]],
    list: positions.flatMap((after) => [
      [after, limit],
      [after, limit, 1],
      [after, limit, last],
    ]),
  },
  imports: { find: [['7']], findParts: [['7']] },
  operators: { list: [[]], find: [[7]], findByToken: [[`${last}`]] },
  sessions: { find: [[`${last}`]] },
  audit: {
    list: pages(
      [undefined, 10n, BigInt(common + 1), BigInt(last)],
      filters<AuditFilter>({
        since: [common - 10],
        until: [common],
        actor: ['many', `actor ${last}`],
        object: ['many', `object ${last}`],
      }),
    ),
  },
  usage: {
    minutes: ranges.map((range) => [range]),
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
    lastUses: [[[1, last, 40_000], (common - 10) * day]],
  },
  instances: { list: [[]] },
};

export const finds: { readonly [Name in keyof Finders]: Calls<Finders[Name]> } = {
  pets: { find: [[7n]] },
  categories: { find: [[7n]] },
  orders: { find: [[7n]], findOpen: [[BigInt(last)]] },
  answers: { find: [[[{ accountId: 1, key: 'key' }], 0]] },
  accounts: { find: [[7]] },
  keys: { find: [[7]] },
  operators: { find: [[7]] },
};

/** The calls with their names, as functions of what has the methods. */
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
