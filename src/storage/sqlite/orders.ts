import type { Database } from 'bun:sqlite';
import type { Order, OrderStatus } from '../../contract/orders.ts';
import { orderStatuses } from '../../domain/order-status.ts';
import { type OrderRow, orderOfRow } from '../order-row.ts';
import type { OrderFilter, OrderStore } from '../storage.ts';
import type { OrderWrites } from '../transaction.ts';
import { mergedPage } from './pages.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const selection = `SELECT id, pet_id AS petId, status, reference, created_at AS createdAt,
  updated_at AS updatedAt FROM orders`;

export class SqliteOrders implements OrderStore {
  readonly #snapshot: Snapshot;
  readonly #find;
  readonly #list;
  readonly #listByStatus;
  readonly #listByPet;
  readonly #listByBoth;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#find = database.query<OrderRow, [bigint]>(`${selection} WHERE id = ?`);
    this.#list = database.query<OrderRow, [bigint, number]>(`${selection} WHERE id > ? ORDER BY id LIMIT ?`);
    this.#listByStatus = database.query<OrderRow, [OrderStatus, bigint, number]>(
      `${selection} WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByPet = database.query<OrderRow, [bigint, bigint, number]>(
      mergedPage(
        orderStatuses,
        (status) => `${selection} WHERE pet_id = ?1 AND status = '${status}' AND id > ?2`,
      ),
    );
    this.#listByBoth = database.query<OrderRow, [bigint, OrderStatus, bigint, number]>(
      `${selection} WHERE pet_id = ? AND status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
  }

  find(id: bigint): Order | undefined {
    const row = this.#snapshot.read(() => this.#find.get(id));
    return row === null ? undefined : orderOfRow(row);
  }

  list(after: bigint, limit: number, filter: OrderFilter = {}): Order[] {
    return this.#snapshot.read(() => this.#rows(after, limit, filter)).map(orderOfRow);
  }

  #rows(after: bigint, limit: number, { status, petId }: OrderFilter): OrderRow[] {
    if (petId === undefined) {
      return status === undefined
        ? this.#list.all(after, limit)
        : this.#listByStatus.all(status, after, limit);
    }
    return status === undefined
      ? this.#listByPet.all(petId, after, limit)
      : this.#listByBoth.all(petId, status, after, limit);
  }
}

export class SqliteOrderWrites implements OrderWrites {
  readonly #touch: Touch;
  readonly #find;
  readonly #findOpen;
  readonly #insert;
  readonly #update;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#find = database.query<OrderRow, [bigint]>(`${selection} WHERE id = ?`);
    // Worded as the index of open orders is.
    this.#findOpen = database.query<OrderRow, [bigint]>(
      `${selection} WHERE pet_id = ? AND status IN ('placed', 'approved')`,
    );
    this.#insert = database.query<never, [bigint, string, string | null, number, number]>(
      'INSERT INTO orders (pet_id, status, reference, created_at, updated_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#update = database.query<never, [string, number, bigint]>(
      'UPDATE orders SET status = ?, updated_at = ? WHERE id = ?',
    );
  }

  find(id: bigint): Order | undefined {
    return this.#find.all(id).map(orderOfRow)[0];
  }

  findOpen(petId: bigint): Order | undefined {
    return this.#findOpen.all(petId).map(orderOfRow)[0];
  }

  add(order: Omit<Order, 'id'>): Order {
    this.#touch('orders');
    const { petId, status, reference = null, createdAt, updatedAt } = order;
    const { lastInsertRowid } = this.#insert.run(petId, status, reference, createdAt, updatedAt);
    return { id: BigInt(lastInsertRowid), ...order };
  }

  replace({ id, status, updatedAt }: Order): void {
    this.#touch('orders');
    this.#update.run(status, updatedAt, id);
  }
}
