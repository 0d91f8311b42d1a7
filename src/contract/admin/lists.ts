/** List filters, sort orders and totals that only the admin API has. */
import * as z from 'zod';
import { orderStatuses } from '../../domain/order-status.ts';
import { defineOperations, okJson, okPage } from '../operation.ts';
import { sharedOperations } from '../operations.ts';
import { Pets } from '../pets.ts';
import { petJson } from '../representations.ts';
import { count, enumSchema, objectSchema } from '../values.ts';
import { since, until } from './values.ts';

/** Closed accounts and the orders in each status are counted only up to this number. */
export const maxCount = 10_000;

export const direction = enumSchema(['asc', 'desc'])
  .optional()
  .describe('Order by ascending or descending id. `desc` is newest first. Defaults to `asc`.');

/** `getPet` is deprecated in the public API, but operators need it for the entity tag of a single animal. */
const { deprecation: _, ...getPet } = {
  ...sharedOperations.getPet,
  description: 'Returns one animal. Its `ETag` can be used for conditional changes.',
};

const { listPets, listOrders } = sharedOperations;

/** Operations of the public API that the admin API redefines. */
export const overriddenPublicOperations = {
  getPet,
  listPets: {
    ...listPets,
    description: 'Returns a page of animals in ascending order of id or, with `order=desc`, newest first.',
    query: listPets.query.extend({ order: direction }),
    success: okPage(Pets, petJson, 'A page of animals.'),
  },
  listOrders: {
    ...listOrders,
    description:
      'Returns a page of orders in ascending order of id or, with `order=desc`, newest first. `since` and `until` filter by ' +
      'the time when an order was placed. Ids increase with this time only if the clocks of all instances agree.',
    query: listOrders.query.extend({ order: direction, since, until }),
  },
} as const;

const counted = (what: string) => count.describe(`${what}, counted up to ${maxCount.toLocaleString('en')}.`);

export const Totals = objectSchema('Totals', 'The number of objects.', {
  accounts: count.describe('Number of accounts, open and closed.'),
  closedAccounts: counted('Number of closed accounts'),
  keys: count.describe('Number of keys in any state.'),
  orders: count.describe('Number of orders in any status.'),
  ordersByStatus: z
    .object(
      Object.fromEntries(
        orderStatuses.map((status) => [status, counted(`Number of orders that are \`${status}\``)]),
      ) as Record<(typeof orderStatuses)[number], typeof count>,
    )
    .describe('Number of orders in each status.'),
});

export type Totals = z.infer<typeof Totals>;

export const totalsOperations = defineOperations(
  { tag: { name: 'Store', description: 'Contents of the store.' } },
  {
    getTotals: {
      route: 'GET /totals',
      summary: 'Count accounts, keys and orders',
      description: 'Returns the number of accounts, keys and orders. For animals, see `GET /inventory`.',
      success: okJson(Totals, 'The totals.'),
    },
  },
);
