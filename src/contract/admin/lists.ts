/** Filters and orders that only the lists of operators have, and totals. */
import * as z from 'zod';
import { orderStatuses } from '../../domain/order-status.ts';
import { okJson, rowsOf } from '../operation.ts';
import { sharedOperations } from '../operations.ts';
import { count, enumOf, shape } from '../values.ts';
import { since, until } from './values.ts';

/** Closed accounts, and orders of a status, are counted up to this number. */
export const maxCounted = 10_000;

export const direction = enumOf(['asc', 'desc'])
  .optional()
  .meta({ description: 'Whether ids ascend or descend, the newest first. Defaults to `asc`.' });

/** Removed for clients, but kept for operators, because its entity tag is needed to change a single animal. */
const { deprecation: _, ...getPet } = {
  ...sharedOperations.getPet,
  description: 'Returns one animal, with the `ETag` that a change of it can depend on.',
};

const { listPets, listOrders } = sharedOperations;

/** The rows of clients that are others for operators. */
export const ownShopOperations = {
  getPet,
  listPets: {
    ...listPets,
    description: 'Returns a page of animals by ascending id or, with `order=desc`, the newest first.',
    query: listPets.query.extend({ order: direction }),
  },
  listOrders: {
    ...listOrders,
    description:
      'Returns a page of orders by ascending id or, with `order=desc`, the newest first. `since` and `until` filter by ' +
      'when they were placed. Ids ascend with that time, as far as the clocks of all instances agree.',
    query: listOrders.query.extend({ order: direction, since, until }),
  },
} as const;

const counted = (what: string) =>
  count.meta({ description: `${what}, counted up to ${maxCounted.toLocaleString('en')}.` });

export const Totals = shape('Totals', 'How many objects there are.', {
  accounts: count.meta({ description: 'Accounts, open and closed.' }),
  closedAccounts: counted('Closed accounts'),
  keys: count.meta({ description: 'Keys in any state.' }),
  orders: count.meta({ description: 'Orders of all statuses.' }),
  ordersByStatus: z
    .object(
      Object.fromEntries(
        orderStatuses.map((status) => [status, counted(`Orders that are \`${status}\``)]),
      ) as Record<(typeof orderStatuses)[number], typeof count>,
    )
    .meta({ description: 'Orders of each status.' }),
});

export type Totals = z.infer<typeof Totals>;

export const totalsOperations = rowsOf(
  { tag: { name: 'Store', description: 'What is stored.' } },
  {
    getTotals: {
      method: 'GET',
      path: '/totals',
      summary: 'Count accounts, keys and orders',
      description: 'Returns how many there are. For animals, see `GET /inventory`.',
      success: okJson(Totals, 'The numbers.'),
    },
  },
);
