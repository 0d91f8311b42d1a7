import { createSearchStore } from '../../queries/search.ts';
import type { SqliteEngine } from '../engine.ts';

const count = (rows: string) => `SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} LIMIT $2)`;

export const searchStore = (engine: SqliteEngine) =>
  createSearchStore(engine, {
    lower: (column) => `lower(${column})`,
    ordersReferring: `SELECT id FROM orders WHERE reference >= $1 AND reference < $1 || '\u{10ffff}'
      ORDER BY reference, id LIMIT $2`,
    countOrders: count('orders WHERE status = $1'),
    countAccounts: count('accounts WHERE (closed_at IS NULL) = $1'),
  });
