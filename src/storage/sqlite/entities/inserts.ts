import type { Database } from 'bun:sqlite';
import type { SqlValue } from '../../../tables/table.ts';

/** Allowed numbers of rows per statement. Using only a few sizes limits the number of prepared statements. */
const rowCounts = [64, 16, 4, 1] as const;

/**
 * Returns a function that inserts rows, several per statement. For each statement, SQLite reads and writes the table's id
 * counter, and creates a temporary table for the list of values in a CHECK constraint. `OR FAIL` avoids the page copies
 * that SQLite would need to undo a failed statement. Page copies are unnecessary, because the writer undoes all changes
 * of a failed unit.
 *
 * The function takes the values of the rows, in order, and returns the id of the last row. Ids increase by one, in the
 * order of the rows.
 */
export function batchInsert(
  database: Database,
  table: string,
  columns: readonly string[],
): (values: readonly SqlValue[]) => bigint {
  const places = `(${columns.map(() => '?')})`;
  const statements = rowCounts.map((rows) => {
    const values = Array<string>(rows).fill(places).join();
    const text = `INSERT OR FAIL INTO ${table} (${columns}) VALUES ${values}`;
    return { length: rows * columns.length, statement: database.query<never, SqlValue[]>(text) };
  });
  return (values) => {
    let from = 0;
    let last: number | bigint = 0n;
    for (const { length, statement } of statements) {
      for (; from + length <= values.length; from += length) {
        const some = length === values.length ? values : values.slice(from, from + length);
        last = statement.run(...some).lastInsertRowid;
      }
    }
    return BigInt(last);
  };
}
