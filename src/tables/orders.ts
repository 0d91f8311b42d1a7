import type { OrderStatus } from '../contract/orders.ts';
import { orderStatuses } from '../domain/order-status.ts';
import { int64, integer, oneOf, optional, table, text } from './table.ts';

export const orders = table(
  'orders',
  {
    id: int64,
    // Not a foreign key, because the animal may be deleted while the order is kept.
    petId: int64,
    status: oneOf<OrderStatus>(orderStatuses),
    reference: optional(text),
    createdAt: integer,
    updatedAt: integer,
  },
  {
    isCounted: true,
    indexes: [['status'], ['petId', 'status']],
    filters: ['status', 'petId'],
    lookups: { open: { by: ['petId'], where: [{ name: 'status', is: ['placed', 'approved'] }] } },
    resource: 'orders',
  },
);
