import type { Order, OrderStatus } from '../contract/orders.ts';

/** An order as SQL gives it, in either dialect: integers are `bigint`. */
export interface OrderRow {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference: string | null;
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
}

export function orderOfRow({ id, petId, status, reference, createdAt, updatedAt }: OrderRow): Order {
  return {
    id,
    petId,
    status,
    ...(reference !== null && { reference }),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
  };
}
