import type { SQL } from 'bun';
import type { Order, OrderStatus } from '../../contract/orders.ts';
import { orderStatuses } from '../../domain/order-status.ts';
import { type OrderRow, orderOfRow } from '../order-row.ts';
import type { OrderFilter, OrderStore } from '../storage.ts';
import type { OrderWrites } from '../transaction.ts';
import { mergedPage, pageOf } from './ranges.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, risenVersion, type Versioned } from './versions.ts';

const columns = (sql: SQL) =>
  sql`id, pet_id AS "petId", status, reference, created_at AS "createdAt", updated_at AS "updatedAt"`;

export class PostgresOrders implements OrderStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(id: bigint): Promise<Order | undefined> {
    const [row] = await this.#reader.read((sql) => byId(sql, id));
    return row && orderOfRow(row);
  }

  async list(after: bigint, limit: number, filter: OrderFilter = {}): Promise<Order[]> {
    const rows = await this.#reader.read((sql) => page(sql, after, limit, filter));
    return rows.map(orderOfRow);
  }
}

function byId(sql: SQL, id: bigint): SQL.Query<OrderRow[]> {
  return sql`SELECT ${columns(sql)} FROM orders WHERE id = ${id}`;
}

function page(sql: SQL, after: bigint, limit: number, { status, petId }: OrderFilter): SQL.Query<OrderRow[]> {
  if (petId === undefined) {
    return status === undefined
      ? sql`SELECT ${columns(sql)} FROM orders WHERE id > ${after} ORDER BY id LIMIT ${limit}`
      : pageOfStatus(sql, after, limit, status);
  }
  if (status !== undefined) return pageOfPet(sql, after, limit, petId, status);
  const pages = orderStatuses.map((one) => pageOfPet(sql, after, limit, petId, one));
  return mergedPage(sql, pages, limit);
}

function pageOfStatus(sql: SQL, after: bigint, limit: number, status: OrderStatus): SQL.Query<OrderRow[]> {
  const range = {
    columns: columns(sql),
    table: sql`orders`,
    index: sql`status, id`,
    begin: sql`${status}::text, ${after}::bigint`,
    belongs: sql`status = ${status}`,
  };
  return pageOf(sql, range, limit);
}

function pageOfPet(
  sql: SQL,
  after: bigint,
  limit: number,
  petId: bigint,
  status: OrderStatus,
): SQL.Query<OrderRow[]> {
  const range = {
    columns: columns(sql),
    table: sql`orders`,
    index: sql`pet_id, status, id`,
    begin: sql`${petId}::bigint, ${status}::text, ${after}::bigint`,
    belongs: sql`pet_id = ${petId} AND status = ${status}`,
  };
  return pageOf(sql, range, limit);
}

export class PostgresOrderWrites implements OrderWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async find(id: bigint): Promise<Order | undefined> {
    const [row] = await this.#statements.run((sql) => byId(sql, id));
    return row && orderOfRow(row);
  }

  async findOpen(petId: bigint): Promise<Order | undefined> {
    // Worded as the index of open orders is.
    const [row] = await this.#statements.run<OrderRow[]>(
      (sql) => sql`
        SELECT ${columns(sql)} FROM orders WHERE pet_id = ${petId} AND status IN ('placed', 'approved')`,
    );
    return row && orderOfRow(row);
  }

  async add(order: Omit<Order, 'id'>): Promise<Order> {
    const { petId, status, reference = null, createdAt, updatedAt } = order;
    const [row] = await this.#statements.change<Versioned & { id: bigint }>(
      'orders',
      (sql) => sql`
        WITH taken AS (
          UPDATE counters SET last = last + 1, ${risenVersion(sql)} WHERE name = 'orders' RETURNING last, version
        )
        INSERT INTO orders (id, pet_id, status, reference, created_at, updated_at)
        SELECT last, ${petId}::bigint, ${status}, ${reference}::text, ${createdAt}::bigint, ${updatedAt}::bigint
        FROM taken
        RETURNING id, (SELECT version FROM taken) AS version`,
    );
    if (row === undefined) throw new Error('The table "counters" has no row "orders".');
    return { id: row.id, ...order };
  }

  async replace({ id, status, updatedAt }: Order): Promise<void> {
    await this.#statements.change<Versioned>(
      'orders',
      (sql) => sql`
        WITH ${moved(sql, 'orders')}
        UPDATE orders SET status = ${status}, updated_at = ${updatedAt} FROM moved WHERE id = ${id} RETURNING version`,
    );
  }
}
