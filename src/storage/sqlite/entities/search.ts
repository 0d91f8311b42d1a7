import type { Database } from 'bun:sqlite';
import { SearchQueries } from '../../queries/search.ts';
import { SqliteEngine } from '../engine.ts';
import type { ReadIn } from './entity.ts';

const count = (rows: string) => `SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} LIMIT $2)`;

export const searchStore = (database: Database, read: ReadIn) =>
  new SearchQueries(new SqliteEngine(database, read), {
    lower: (column) => `lower(${column})`,
    ordersReferring: `SELECT id FROM orders WHERE reference >= $1 AND reference < $1 || '\u{10ffff}'
      ORDER BY reference, id LIMIT $2`,
    countOrders: count('orders WHERE status = $1'),
    countAccounts: count('accounts WHERE (closed_at IS NULL) = $1'),
  });
