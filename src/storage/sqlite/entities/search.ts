import type { Database } from 'bun:sqlite';
import type { OrderStatus } from '../../../contract/orders.ts';
import type { SearchedTable, SearchStore, Span } from '../../admin.ts';
import { searchedNames } from '../../search.ts';
import type { ReadIn } from './entity.ts';

type Row = [value: bigint];

export class SqliteSearch implements SearchStore {
  readonly #database: Database;
  readonly #read: ReadIn;

  constructor(database: Database, read: ReadIn) {
    this.#database = database;
    this.#read = read;
  }

  containing(of: SearchedTable, text: string, { after, until }: Span, limit: number): bigint[] {
    const lastFour = of === 'keys' ? 'OR lower(last_four) = ?3' : '';
    return this.#ids(
      `SELECT id FROM ${of} WHERE id > ?1 AND id <= ?2 AND (instr(lower(${searchedNames[of]}), ?3) > 0 ${lastFour})
       ORDER BY id LIMIT ?4`,
      ...[after, until, text, limit],
    );
  }

  nextId(of: SearchedTable, after: bigint): bigint | undefined {
    return this.#ids(`SELECT id FROM ${of} WHERE id > ?1 ORDER BY id LIMIT 1`, after)[0];
  }

  ordersReferring(prefix: string, limit: number): bigint[] {
    return this.#ids(
      'SELECT id FROM orders WHERE reference >= ?1 AND reference < ?2 ORDER BY reference, id LIMIT ?3',
      ...[prefix, `${prefix}\u{10ffff}`, limit],
    );
  }

  countOrders(status: OrderStatus, limit: number): number {
    return this.#count('SELECT 1 FROM orders WHERE status = ?1', status, limit);
  }

  countClosedAccounts(limit: number): number {
    return this.#count('SELECT 1 FROM accounts WHERE (closed_at IS NULL) = ?1', 0, limit);
  }

  #count(rows: string, value: string | number, limit: number): number {
    const [[count] = [0n]] = this.#values(`SELECT count(*) FROM (${rows} LIMIT ?2)`, value, limit);
    return Number(count);
  }

  #ids(select: string, ...values: (string | number | bigint)[]): bigint[] {
    return this.#values(select, ...values).map(([id]) => id);
  }

  #values(select: string, ...values: (string | number | bigint)[]): Row[] {
    const statement = this.#database.query<never, (string | number | bigint)[]>(select);
    return this.#read(() => statement.values(...values)) as Row[];
  }
}
