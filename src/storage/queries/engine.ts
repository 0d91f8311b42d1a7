/** The interface between the queries of this folder, which are the same for both engines, and an engine. */
import type { Awaitable } from '../../domain/awaitable.ts';
import type { SqlValue } from '../../tables/table.ts';

/** Runs statements. Their parameters are written as in PostgreSQL: `$1::bigint`. */
export interface Engine {
  readonly dialect: Dialect;
  all<Row>(text: string, ...values: SqlValue[]): Awaitable<Row[]>;
  /** Returns the number of rows that the statement changed. */
  run(text: string, ...values: SqlValue[]): Awaitable<number>;
}

/** The differences between the engines in the text of a statement, apart from parameters. */
export interface Dialect {
  /** Locks the selected rows. SQLite has only one writer. */
  readonly locking: (clause: `FOR ${'' | 'NO KEY '}UPDATE${'' | ' SKIP LOCKED'}`) => string;
  /** Whether a row is one of those that a query finds. On PostgreSQL, the plan does not depend on their number. */
  readonly isAmong: (key: string, from: string) => string;
  /** The fastest key of a row with the given primary key. */
  readonly rowKey: (key: string) => string;
  /** Selects the integers in a JSON array as `value`. */
  readonly integersIn: (json: string) => string;
  /** A member of the last object in a JSON array, as text. */
  readonly memberOfLast: (array: string, name: string) => string;
  readonly least: string;
  readonly greatest: string;
  /** Name of the function that returns the position of a text within another; 0 if there is none. */
  readonly position: string;
}

export const sqliteDialect: Dialect = {
  locking: () => '',
  isAmong: (key, from) => `(${key}) IN (SELECT ${key} ${from})`,
  rowKey: (key) => key,
  integersIn: (json) => `SELECT CAST(value AS INTEGER) AS value FROM json_each(${json})`,
  memberOfLast: (array, name) => `(${array} ->> '$[#-1].${name}')`,
  least: 'min',
  greatest: 'max',
  position: 'instr',
};

export const postgresDialect: Dialect = {
  locking: (clause) => clause,
  isAmong: (key, from) => `${key} = ANY (ARRAY(SELECT ${key} ${from}))`,
  rowKey: () => 'ctid',
  integersIn: (json) => `SELECT value::bigint FROM json_array_elements_text(${json}::text::json) AS value`,
  memberOfLast: (array, name) => `(${array}::json -> -1 ->> '${name}')`,
  least: 'least',
  greatest: 'greatest',
  position: 'strpos',
};

/** Builds the texts of statements once for each engine. */
export function perDialect<Texts>(
  build: (dialect: Dialect) => Texts,
): (engine: Pick<Engine, 'dialect'>) => Texts {
  const built = new Map<Dialect, Texts>();
  return ({ dialect }) => {
    const texts = built.get(dialect) ?? build(dialect);
    built.set(dialect, texts);
    return texts;
  };
}
