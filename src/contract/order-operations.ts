import { created, type Operation, ok, page } from './operation.ts';
import { ListOrdersQuery, NewOrder, NoMembers, Order, OrderId, Orders, orderJson } from './orders.ts';

const params = { orderId: { schema: OrderId, otherwise: 'order_not_found' } } as const;

/** What the four steps of an order have in common. */
const step = {
  method: 'POST',
  tag: 'Orders',
  stability: 'beta',
  params,
  body: { schema: NoMembers, optional: true },
  scope: 'orders:write',
  readScope: 'orders:read',
  reads: [],
  preconditions: ['If-Match'],
  success: ok(Order, orderJson, 'The order as it is now.'),
  errors: ['order_not_found', 'order_transition_not_allowed'],
} as const;

export const orderOperations = {
  placeOrder: {
    operationId: 'placeOrder',
    method: 'POST',
    path: '/orders',
    tag: 'Orders',
    summary: 'Place an order',
    description:
      'Orders one animal, which must be `available` and becomes `pending`. If two clients order the same animal, ' +
      'exactly one of them gets it.',
    stability: 'beta',
    body: { schema: NewOrder },
    scope: 'orders:write',
    reads: [],
    success: created(Order, orderJson, ({ id }) => `/orders/${id}`, 'The order was placed.'),
    errors: ['pet_not_available'],
  },
  listOrders: {
    operationId: 'listOrders',
    method: 'GET',
    path: '/orders',
    tag: 'Orders',
    summary: 'List orders',
    description: 'Returns a page of orders by ascending id, linked like the pages of animals.',
    stability: 'beta',
    query: ListOrdersQuery,
    scope: 'orders:read',
    reads: ['orders'],
    paginated: true,
    success: page(Orders, orderJson, 'The page of orders.'),
    errors: [],
  },
  getOrder: {
    operationId: 'getOrder',
    method: 'GET',
    path: '/orders/{orderId}',
    tag: 'Orders',
    summary: 'Get an order',
    description: 'Returns an order. Orders stay when their animal is removed.',
    stability: 'beta',
    params,
    scope: 'orders:read',
    reads: ['orders'],
    success: ok(Order, orderJson, 'The requested order.'),
    errors: ['order_not_found'],
  },
  approveOrder: {
    ...step,
    operationId: 'approveOrder',
    path: '/orders/{orderId}/approve',
    summary: 'Approve an order',
    description: 'Moves an order from `placed` to `approved`.',
  },
  deliverOrder: {
    ...step,
    operationId: 'deliverOrder',
    path: '/orders/{orderId}/deliver',
    summary: 'Deliver an order',
    description: 'Moves an order from `approved` to `delivered`. Its animal becomes `sold`.',
  },
  cancelOrder: {
    ...step,
    operationId: 'cancelOrder',
    path: '/orders/{orderId}/cancel',
    summary: 'Cancel an order',
    description:
      'Moves an order from `placed` or `approved` to `cancelled`. Its animal becomes `available` again.',
  },
  returnOrder: {
    ...step,
    operationId: 'returnOrder',
    path: '/orders/{orderId}/return',
    summary: 'Return an order',
    description:
      'Moves an order from `delivered` to `returned`. Its animal becomes `available` again if it is still `sold`.',
  },
} as const satisfies Readonly<Record<string, Operation>>;
