import type { SQL } from 'bun';
import type { OrderStatus } from '../../../contract/orders.ts';
import type { SearchedTable, SearchStore, Span } from '../../admin.ts';
import { searchedNames } from '../../search.ts';
import type { Runner } from '../statements.ts';

/** Converts only ASCII letters to lowercase, like `lower` in SQLite. */
const lower = (column: string) => `lower(${column} COLLATE "C")`;

export class PostgresSearch implements SearchStore {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  containing(of: SearchedTable, text: string, { after, until }: Span, limit: number): Promise<bigint[]> {
    const lastFour = of === 'keys' ? `OR ${lower('last_four')} = $3::text` : '';
    return this.#ids(
      `SELECT id FROM ${of} WHERE id > $1::bigint AND id <= $2::bigint
         AND (strpos(${lower(searchedNames[of])}, $3::text) > 0 ${lastFour})
       ORDER BY id LIMIT $4`,
      ...[after, until, text, limit],
    );
  }

  async nextId(of: SearchedTable, after: bigint): Promise<bigint | undefined> {
    const [id] = await this.#ids(`SELECT id FROM ${of} WHERE id > $1::bigint ORDER BY id LIMIT 1`, after);
    return id;
  }

  /** Orders by every column of the index, so that the planner uses this index. */
  ordersReferring(prefix: string, limit: number): Promise<bigint[]> {
    return this.#ids(
      `SELECT id FROM (
         SELECT id, reference FROM orders WHERE reference IS NOT NULL AND reference COLLATE "C" >= $1::text
         ORDER BY reference COLLATE "C", id LIMIT $2
       ) AS page WHERE starts_with(reference, $1::text) ORDER BY reference COLLATE "C", id`,
      ...[prefix, limit],
    );
  }

  countOrders(status: OrderStatus, limit: number): Promise<number> {
    return this.#count('orders', 'status', '$1::text', status, limit);
  }

  countClosedAccounts(limit: number): Promise<number> {
    return this.#count('accounts', '(closed_at IS NULL)', '$1::boolean', false, limit);
  }

  /** ORDER BY lists every column of the index, as in `PostgresEntity`. */
  async #count(table: string, column: string, place: string, value: string | boolean, limit: number) {
    const page = `
      SELECT ${column} AS value FROM ${table} WHERE (${column}, id) >= (${place}, 0)
      ORDER BY ${column}, id LIMIT $2`;
    const [row] = await this.#runner.run(
      (sql): SQL.Query<{ count: bigint }[]> =>
        sql.unsafe(`SELECT count(*) AS count FROM (${page}) AS page WHERE value = ${place}`, [value, limit]),
    );
    return Number(row?.count ?? 0);
  }

  async #ids(select: string, ...values: (string | number | bigint)[]): Promise<bigint[]> {
    const rows = await this.#runner.run(
      (sql): SQL.Query<{ id: bigint }[]> => sql.unsafe(select, [...values]),
    );
    return rows.map(({ id }) => id);
  }
}
