import type { Database, Statement } from 'bun:sqlite';
import type { SqlValue } from '../../../tables/table.ts';

/** Allowed numbers of rows per statement. Using only a few sizes limits the number of prepared statements. */
const rowCounts = [64, 16, 4, 1] as const;

interface Prepared {
  readonly rows: number;
  readonly statement: Statement<never, SqlValue[]>;
}

/**
 * Inserts rows, several per statement. For each statement, SQLite reads and writes the table's id counter, and creates
 * a temporary table for the list of values in a CHECK constraint. `OR FAIL` avoids the page copies that SQLite would
 * need to undo a failed statement. Page copies are unnecessary, because the writer undoes all changes of a failed unit.
 */
export class BatchInsert {
  readonly #width: number;
  readonly #statements: readonly Prepared[];

  constructor(database: Database, table: string, columns: readonly string[]) {
    this.#width = columns.length;
    const places = `(${columns.map(() => '?')})`;
    this.#statements = rowCounts.map((rows) => {
      const values = Array<string>(rows).fill(places).join();
      const text = `INSERT OR FAIL INTO ${table} (${columns}) VALUES ${values}`;
      return { rows, statement: database.query<never, SqlValue[]>(text) };
    });
  }

  /**
   * Inserts the rows whose values are listed in order. Returns the id of the last row. Ids increase by one, in the
   * order of the rows.
   */
  run(values: readonly SqlValue[]): bigint {
    let from = 0;
    let last: number | bigint = 0n;
    for (const { rows, statement } of this.#statements) {
      const length = rows * this.#width;
      for (; from + length <= values.length; from += length) {
        const some = length === values.length ? values : values.slice(from, from + length);
        last = statement.run(...some).lastInsertRowid;
      }
    }
    return BigInt(last);
  }
}
