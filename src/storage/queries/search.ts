import { andThen } from '../../domain/awaitable.ts';
import type { SqlValue } from '../../tables/table.ts';
import type { SearchedTable, SearchStore } from '../admin.ts';
import type { Engine } from './engine.ts';

/** The column that a search examines in each table. */
const searchedNames: Readonly<Record<SearchedTable, string>> = {
  accounts: 'name_folded',
  keys: 'name',
  pets: 'name',
};

/** Statements that use the indexes of an engine in different ways. */
interface EngineStatements {
  /** The SQL of a column with its ASCII letters in lowercase. */
  readonly lower: (column: string) => string;
  readonly ordersReferring: string;
  readonly countOrders: string;
  readonly countAccounts: string;
}

export function createSearchStore(engine: Engine, own: EngineStatements): SearchStore {
  const { lower } = own;
  const readIds = (text: string, ...values: SqlValue[]) =>
    andThen(engine.all<{ id: bigint }>(text, ...values), (rows) => rows.map(({ id }) => id));
  const count = (text: string, ...values: SqlValue[]) =>
    andThen(engine.all<{ count: bigint }>(text, ...values), ([row]) => Number(row?.count ?? 0));
  return {
    containing: (of, text, { after, until }, limit) => {
      const lastFour = of === 'keys' ? `OR ${lower('last_four')} = $3::text` : '';
      const contains = `${engine.dialect.position}(${lower(searchedNames[of])}, $3::text) > 0`;
      return readIds(
        `SELECT id FROM ${of} WHERE id > $1::bigint AND id <= $2::bigint AND (${contains} ${lastFour}) ORDER BY id LIMIT $4`,
        ...[after, until, text, limit],
      );
    },
    nextId: (of, after) =>
      andThen(readIds(`SELECT id FROM ${of} WHERE id > $1::bigint ORDER BY id LIMIT 1`, after), ([id]) => id),
    ordersReferring: (prefix, limit) => readIds(own.ordersReferring, prefix, limit),
    countOrders: (status, limit) => count(own.countOrders, status, limit),
    countClosedAccounts: (limit) => count(own.countAccounts, false, limit),
  };
}
