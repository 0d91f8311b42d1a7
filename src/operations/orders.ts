import { andThen } from '../domain/awaitable.ts';
import { found } from './found.ts';
import { pageOf } from './pages.ts';
import type { ReadersOf } from './readers.ts';

/** What clients read of orders. */
export const orderReaders = {
  listOrders: ({ orders }, { query }) => {
    const { status, petId } = query;
    return pageOf(query, {
      path: '/orders',
      read: (after = 0n, limit) => orders.list(after, limit, { status, petId }),
    });
  },
  getOrder: ({ orders }, { params }) =>
    andThen(orders.find(params.orderId), (order) => found(order, 'order_not_found')),
} satisfies ReadersOf<'listOrders' | 'getOrder'>;
