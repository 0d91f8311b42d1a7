import * as z from 'zod';
import { orderStatuses } from '../domain/order-status.ts';
import { defineOperations, ok, okPage, success } from './operation.ts';
import { orderJson, repeatableResponses } from './representations.ts';
import {
  assignedId,
  bodySchema,
  cursorParameter,
  emptyBody,
  enumSchema,
  instant,
  int64,
  int64Filter,
  int64Hint,
  limitParameter,
  objectSchema,
  omittedExample,
  pageSchema,
  text,
} from './values.ts';

export const OrderStatus = enumSchema(orderStatuses).meta({
  id: 'OrderStatus',
  description: 'Status of the order.',
});

const petId = int64(`ID of the ordered animal. ${int64Hint}`, 1);
const reference = text("The client's reference.", 'cart-1042');

const NewOrder = bodySchema('NewOrder', 'An order to place.', 'a new order', {
  petId,
  reference: reference.optional(),
});

export const Order = objectSchema('Order', 'An order for one animal.', {
  id: assignedId('Unique ID'),
  petId,
  status: OrderStatus,
  reference: reference.optional(),
  createdAt: instant('Time when the order was placed (UTC).'),
  updatedAt: instant('Time when the order was placed or its status last changed (UTC).'),
});

const Orders = pageSchema(Order, 'Orders', 'A page of orders.');

const ListOrdersQuery = z.strictObject({
  limit: limitParameter('orders'),
  status: OrderStatus.optional().meta({
    description: 'Return only orders with this status.',
    param: { examples: omittedExample('placed') },
  }),
  petId: int64Filter('Return only orders for this animal.'),
  cursor: cursorParameter,
});

const OrderId = int64('ID of the order.', 1);

export type OrderStatus = z.infer<typeof OrderStatus>;

const params = { orderId: { schema: OrderId, otherwise: 'order_not_found' } } as const;

const step = {
  params,
  body: emptyBody,
  scope: 'orders:write',
  readScope: 'orders:read',
  preconditions: ['If-Match'],
  success: success(repeatableResponses.approveOrder, Order, { 200: 'The order after the change.' }),
  errors: ['order_transition_not_allowed'],
} as const;

export const orderOperations = defineOperations(
  { tag: { name: 'Orders', description: 'Orders for animals, from placed to delivered.' } },
  {
    placeOrder: {
      route: 'POST /orders',
      summary: 'Place an order',
      description:
        'Orders one animal, which must be `available` and becomes `pending`. If two clients order the same animal, ' +
        'exactly one succeeds.',
      body: { schema: NewOrder },
      scope: 'orders:write',
      success: success(repeatableResponses.placeOrder, Order, { 201: 'The order was placed.' }),
      errors: ['pet_not_available'],
    },
    listOrders: {
      route: 'GET /orders',
      summary: 'List orders',
      description:
        'Returns a page of orders in ascending order of id. The `Link` header has the URLs of the first and the next page.',
      query: ListOrdersQuery,
      scope: 'orders:read',
      reads: ['orders'],
      paginated: true,
      success: okPage(Orders, orderJson, 'A page of orders.'),
    },
    getOrder: {
      route: 'GET /orders/{orderId}',
      summary: 'Get an order',
      description: 'Returns an order. Orders are kept even after their animal is deleted.',
      params,
      scope: 'orders:read',
      reads: ['orders'],
      success: ok(Order, orderJson, 'The requested order.'),
    },
    approveOrder: {
      ...step,
      route: 'POST /orders/{orderId}/approve',
      summary: 'Approve an order',
      description: 'Changes an order from `placed` to `approved`.',
    },
    deliverOrder: {
      ...step,
      route: 'POST /orders/{orderId}/deliver',
      summary: 'Deliver an order',
      description: 'Changes an order from `approved` to `delivered`. Its animal becomes `sold`.',
    },
    cancelOrder: {
      ...step,
      route: 'POST /orders/{orderId}/cancel',
      summary: 'Cancel an order',
      description:
        'Changes an order from `placed` or `approved` to `cancelled`. Its animal becomes `available` again.',
    },
    returnOrder: {
      ...step,
      route: 'POST /orders/{orderId}/return',
      summary: 'Return an order',
      description:
        'Changes an order from `delivered` to `returned`. Its animal becomes `available` again if it is still `sold`.',
    },
  },
);
