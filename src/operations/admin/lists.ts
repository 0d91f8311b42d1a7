/**
 * Lists for operators. Unlike the lists for clients, they can be read in both directions, start at a given time, and
 * have totals.
 */
import {
  maxCount,
  type overriddenPublicOperations,
  type Totals,
  type totalsOperations,
} from '../../contract/admin/lists.ts';
import { int64Max } from '../../contract/json.ts';
import type { Order, Pet } from '../../contract/representations.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { orderStatuses } from '../../domain/order-status.ts';
import type { PetFilter } from '../../storage/storage.ts';
import { matchesFilter } from '../../tables/sql.ts';
import { readPage } from '../resources/pages.ts';
import type { OperationReaders } from '../resources/rows.ts';
import { sharedReaders } from '../resources/shared.ts';
import type { Store } from '../units.ts';
import type { StoreHandlersOf } from './handlers.ts';

/** Reads the rows after or before the row with the given id. */
type ReadRows<Row> = (id: bigint | undefined, limit: number) => Awaitable<Row[]>;

interface ListReaders<Row> {
  readonly list: ReadRows<Row>;
  readonly listNewest: ReadRows<Row>;
}

interface IdRange {
  readonly minId: bigint;
  readonly maxId: bigint;
}

/** A page of rows whose ids are within a range, starting after `after`, in either direction. */
async function pageWithin<Row extends { readonly id: bigint }>(
  { list, listNewest }: ListReaders<Row>,
  order: 'asc' | 'desc' | undefined,
  { minId, maxId }: IdRange,
  after: bigint | undefined,
  limit: number,
): Promise<Row[]> {
  if (order !== 'desc') {
    // Ids start at 1. `minId - 1n` would overflow if `minId` were the lowest int64.
    const start = after ?? 0n;
    const from = start < minId ? minId - 1n : start;
    return (await list(from, limit)).filter(({ id }) => id <= maxId);
  }
  const before = after === undefined || after > maxId ? maxId : after - 1n;
  // `int64Max + 1` would overflow. Because no id is higher than `int64Max`, the list can be read without a bound.
  const rows = await listNewest(before === int64Max ? undefined : before + 1n, limit);
  return rows.filter(({ id }) => id >= minId);
}

/** The animals with the given ids that match a filter. A request contains at most a hundred ids. */
function filterNamed(
  pets: Pick<Store['pets'], 'findMany'>,
  ids: readonly bigint[],
  filter: PetFilter,
): ListReaders<Pet> {
  const matching = async () => {
    const found = (await pets.findMany(ids)).filter((pet) => matchesFilter(pet, filter));
    return found.sort((one, other) => (one.id < other.id ? -1 : 1));
  };
  return {
    list: async (after = 0n, count) => (await matching()).filter(({ id }) => id > after).slice(0, count),
    listNewest: async (before = int64Max, count) =>
      (await matching())
        .filter(({ id }) => id < before)
        .reverse()
        .slice(0, count),
  };
}

export const operatorReaders = {
  getPet: sharedReaders.getPet,
  listPets: ({ pets }, { query }) =>
    readPage(query, {
      path: '/pets',
      read: (after, limit, { id: ids, minId = 1n, maxId = int64Max, order, ...filter }) => {
        const readers: ListReaders<Pet> =
          ids === undefined
            ? {
                list: (id, count) => pets.list(id, count, filter),
                listNewest: (id, count) => pets.listNewest(id, count, filter),
              }
            : filterNamed(pets, ids, filter);
        return pageWithin(readers, order, { minId, maxId }, after, limit);
      },
    }),
  listOrders: ({ orders }, { query }) =>
    readPage(query, {
      path: '/orders',
      read: async (after, limit, { order, since, until, ...filter }) => {
        const minId = since === undefined ? 1n : await findFirstPlacedAt(orders, since);
        const maxId = until === undefined ? int64Max : (await findFirstPlacedAt(orders, until)) - 1n;
        const readers: ListReaders<Order> = {
          list: (id, count) => orders.list(id, count, filter),
          listNewest: (id, count) => orders.listNewest(id, count, filter),
        };
        return pageWithin(readers, order, { minId, maxId }, after, limit);
      },
    }),
} satisfies OperationReaders<typeof overriddenPublicOperations>;

/**
 * The lowest id of an order placed at or after a time (Unix ms). If there is no such order, returns an id higher than
 * the last one.
 */
async function findFirstPlacedAt(
  orders: Pick<Store['orders'], 'list' | 'listNewest'>,
  at: number,
): Promise<bigint> {
  const [last] = await orders.listNewest(undefined, 1);
  let [earlier, later] = [0n, (last?.id ?? 0n) + 1n];
  while (earlier + 1n < later) {
    const midpoint = (earlier + later) / 2n;
    const [order] = await orders.list(midpoint - 1n, 1);
    if (order === undefined || order.createdAt >= at) later = midpoint;
    else earlier = order.id;
  }
  return later;
}

/** Accounts, keys and orders are never deleted, so the highest id of each equals the total. */
async function readTotals({ accounts, keys, orders, search }: Store): Promise<Totals> {
  const [[account], [key], [order]] = await Promise.all([
    accounts.listNewest(undefined, 1),
    keys.listNewest(undefined, 1),
    orders.listNewest(undefined, 1),
  ]);
  const ordersByStatus = await Promise.all(
    orderStatuses.map(async (status) => [status, await search.countOrders(status, maxCount)] as const),
  );
  return {
    ...{ accounts: account?.id ?? 0, keys: key?.id ?? 0, orders: Number(order?.id ?? 0n) },
    closedAccounts: await search.countClosedAccounts(maxCount),
    ordersByStatus: Object.fromEntries(ordersByStatus) as Totals['ordersByStatus'],
  };
}

export const totalsHandlers = {
  getTotals: ({ store }) => readTotals(store),
} satisfies StoreHandlersOf<{ readonly store: Store }, typeof totalsOperations>;
