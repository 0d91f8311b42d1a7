import * as z from 'zod';
import { orderStatuses } from '../domain/order-status.ts';
import {
  assignedId,
  bodyError,
  cursorParameter,
  instant,
  int64,
  int64Hint,
  int64Parameter,
  limitParameter,
  oneOf,
  pageLimit,
  text,
  unselected,
} from './values.ts';

export const OrderStatus = z
  .enum(orderStatuses, { error: oneOf(orderStatuses) })
  .meta({ id: 'OrderStatus', description: 'How far the order is.' });

const petId = int64(`ID of the animal that is ordered. ${int64Hint}`, 1);
const reference = text("The client's own reference.", 'cart-1042');

export const NewOrder = z
  .strictObject(
    { petId, reference: reference.optional() },
    { error: bodyError('a new order', 'petId and reference') },
  )
  .meta({ id: 'NewOrder', description: 'An order to place.' });

/** The body of a step: none is expected, and an empty object is let pass. */
export const NoMembers = z
  .strictObject({}, { error: bodyError('this request', 'no members') })
  .meta({ id: 'NoMembers', description: 'An empty object.' });

export const Order = z
  .object({
    id: assignedId('Unique ID'),
    petId,
    status: OrderStatus,
    reference: reference.optional(),
    createdAt: instant('When the order was placed, UTC.'),
    updatedAt: instant('When the order was placed or its status last changed, UTC.'),
  })
  .meta({ id: 'Order', description: 'An order for one animal.' });

export const Orders = z
  .array(Order)
  .max(pageLimit.max)
  .meta({ id: 'Orders', description: 'A page of orders.' });

export const ListOrdersQuery = z.strictObject({
  limit: limitParameter('orders'),
  status: OrderStatus.optional().meta({
    description: 'Return only orders with this status.',
    param: { examples: unselected('placed') },
  }),
  petId: int64Parameter('Return only orders for this animal.').optional(),
  cursor: cursorParameter,
});

export const OrderId = int64('ID of the order.', 1);

export type OrderStatus = z.infer<typeof OrderStatus>;
export type NewOrder = z.infer<typeof NewOrder>;
export type ListOrdersQuery = z.infer<typeof ListOrdersQuery>;

/** An order as the service has it; instants are Unix ms. */
export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function orderJson({ id, petId, status, reference, createdAt, updatedAt }: Order): string {
  const named = reference === undefined ? '' : `"reference":${JSON.stringify(reference)},`;
  const [created, updated] = [new Date(createdAt).toISOString(), new Date(updatedAt).toISOString()];
  return `{"id":${id},"petId":${petId},"status":"${status}",${named}"createdAt":"${created}","updatedAt":"${updated}"}`;
}
