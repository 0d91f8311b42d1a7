import type { OrderStatus } from '../../contract/orders.ts';
import { andThen } from '../../domain/awaitable.ts';
import type { SqlValue } from '../../tables/table.ts';
import type { SearchedTable, SearchStore, Span } from '../admin.ts';
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

export class SearchQueries implements SearchStore {
  readonly #engine: Engine;
  readonly #own: EngineStatements;

  constructor(engine: Engine, own: EngineStatements) {
    this.#engine = engine;
    this.#own = own;
  }

  containing(of: SearchedTable, text: string, { after, until }: Span, limit: number) {
    const { lower } = this.#own;
    const lastFour = of === 'keys' ? `OR ${lower('last_four')} = $3::text` : '';
    const contains = `${this.#engine.dialect.position}(${lower(searchedNames[of])}, $3::text) > 0`;
    return this.#ids(
      `SELECT id FROM ${of} WHERE id > $1::bigint AND id <= $2::bigint AND (${contains} ${lastFour}) ORDER BY id LIMIT $4`,
      ...[after, until, text, limit],
    );
  }

  nextId(of: SearchedTable, after: bigint) {
    const ids = this.#ids(`SELECT id FROM ${of} WHERE id > $1::bigint ORDER BY id LIMIT 1`, after);
    return andThen(ids, ([id]) => id);
  }

  ordersReferring(prefix: string, limit: number) {
    return this.#ids(this.#own.ordersReferring, prefix, limit);
  }

  countOrders(status: OrderStatus, limit: number) {
    return this.#count(this.#own.countOrders, status, limit);
  }

  countClosedAccounts(limit: number) {
    return this.#count(this.#own.countAccounts, false, limit);
  }

  #count(text: string, ...values: SqlValue[]) {
    return andThen(this.#engine.all<{ count: bigint }>(text, ...values), ([row]) => Number(row?.count ?? 0));
  }

  #ids(text: string, ...values: SqlValue[]) {
    return andThen(this.#engine.all<{ id: bigint }>(text, ...values), (rows) => rows.map(({ id }) => id));
  }
}
