import { createSearchStore } from '../../queries/search.ts';
import type { PostgresEngine } from '../engine.ts';

/** ORDER BY lists every column of the index, as in `PostgresEntity`. */
const count = (table: string, column: string, place: string) =>
  `SELECT count(*) AS count FROM (
     SELECT ${column} AS value FROM ${table} WHERE (${column}, id) >= (${place}, 0) ORDER BY ${column}, id LIMIT $2
   ) AS page WHERE value = ${place}`;

export const searchStore = (engine: PostgresEngine) =>
  createSearchStore(engine, {
    // Converts only ASCII letters, like `lower` in SQLite.
    lower: (column) => `lower(${column} COLLATE "C")`,
    ordersReferring: `SELECT id FROM (
        SELECT id, reference FROM orders WHERE reference IS NOT NULL AND reference COLLATE "C" >= $1::text
        ORDER BY reference COLLATE "C", id LIMIT $2
      ) AS page WHERE starts_with(reference, $1::text) ORDER BY reference COLLATE "C", id`,
    countOrders: count('orders', 'status', '$1::text'),
    countAccounts: count('accounts', '(closed_at IS NULL)', '$1::boolean'),
  });
