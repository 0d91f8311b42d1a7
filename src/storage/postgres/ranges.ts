/** Pages that cost alike whatever is in the table, and whatever the server believes of it. */
import type { SQL } from 'bun';

export interface Range {
  readonly columns: SQL.Query<unknown>;
  readonly table: SQL.Query<unknown>;
  /** The index's columns, the id last. */
  readonly index: SQL.Query<unknown>;
  /** Their values behind which the page begins. */
  readonly begin: SQL.Query<unknown>;
  /** That a row is of the range: has the same values before the id. */
  readonly belongs: SQL.Query<unknown>;
}

/**
 * A page of the rows with the same values in an index, by ascending id. The order names all columns of the index, for
 * which no other index serves: one by id alone the server might walk past all the rows of other values, which it takes for
 * few. What comes behind the range is read, as far as the page goes, and dropped.
 */
export function pageOf<Row>(sql: SQL, range: Range, limit: number): SQL.Query<Row[]> {
  const { columns, table, index, begin, belongs } = range;
  return sql`
    SELECT ${columns} FROM (
      SELECT * FROM ${table} WHERE (${index}) > (${begin}) ORDER BY ${index} LIMIT ${limit}
    ) AS page WHERE ${belongs}`;
}

/** Several ranges as one, by ascending id: no more of each is read than the page is long. */
export function mergedPage<Row>(
  sql: SQL,
  pages: readonly SQL.Query<Row[]>[],
  limit: number,
): SQL.Query<Row[]> {
  const [first, ...others] = pages;
  const all = others.reduce<unknown>((before, page) => sql`${before} UNION ALL ${page}`, first);
  return sql`SELECT * FROM (${all}) AS merged ORDER BY id LIMIT ${limit}`;
}
