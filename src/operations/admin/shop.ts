import { type AdminInputOf, type ShopOperationId, shopOperations } from '../../contract/admin/operations.ts';
import { isRead, type Operation } from '../../contract/operation.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { writeAs } from '../by-operator.ts';
import { categoryReaders } from '../categories.ts';
import { orderReaders } from '../orders.ts';
import { petReaders } from '../pets.ts';
import type { Preconditions } from '../preconditions.ts';
import type { ReadStore } from '../readers.ts';
import type { OperatorServices } from './services.ts';

const readers = { ...petReaders, ...categoryReaders, ...orderReaders };

export function isShopOperation(id: string): id is ShopOperationId {
  return Object.hasOwn(shopOperations, id);
}

/** What clients do to animals, orders and categories, done by an operator: the same readers and units of work. */
export function performInShop(
  services: OperatorServices,
  operationId: ShopOperationId,
  { params, query, body }: AdminInputOf<ShopOperationId>,
  preconditions: Preconditions,
): Awaitable<unknown> {
  const operation: Operation = shopOperations[operationId];
  if (isRead(operation)) {
    // The input was made by the row, so it is the one its reader takes.
    const read = readers[operationId as keyof typeof readers] as Reader;
    return read(services.store, { params, query, body } as never);
  }
  const unit = { params, body, preconditions, now: services.clock.now() };
  return writeAs(services, operationId as WriteId, unit as never);
}

type Reader = (store: ReadStore, input: never) => Awaitable<unknown>;
type WriteId = Exclude<ShopOperationId, keyof typeof readers>;
