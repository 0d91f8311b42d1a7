/** A page of rows as JSON text that the database builds, so that the rows need not be read one by one. */
export interface JsonRows {
  /** A JSON array. */
  readonly json: string;
  /** The id of the last row; undefined if there are no rows. */
  readonly last: bigint | undefined;
  /** The id of the row after the last one; undefined if there is none. */
  readonly next: bigint | undefined;
}

/** Beginning of a row. No string in JSON contains this text, because a quote in a string is escaped. */
const rowStart = '{"id":';

/**
 * Returns the page, given the JSON of the first `limit` + 1 rows: those of the page, and the row after them, if there
 * is one.
 */
export function toJsonRows(json: string, count: number, limit: number): JsonRows {
  const next = count > limit ? findLastId(json) : undefined;
  const rows = next === undefined ? json : dropLastRow(json);
  return { json: rows, last: findLastId(rows), next };
}

/** Removes rows with ids above `maxId`, which are at the end of the page. */
export function truncateAfter(rows: JsonRows, maxId: bigint): JsonRows {
  let { json, last } = rows;
  while (last !== undefined && last > maxId) {
    json = dropLastRow(json);
    last = findLastId(json);
  }
  const next = rows.next !== undefined && rows.next <= maxId ? rows.next : undefined;
  return { json, last, next };
}

function dropLastRow(json: string): string {
  const rowAt = json.lastIndexOf(rowStart);
  return rowAt === 1 ? '[]' : `${json.slice(0, rowAt - 1)}]`;
}

function findLastId(json: string): bigint | undefined {
  const rowAt = json.lastIndexOf(rowStart);
  if (rowAt === -1) return undefined;
  const from = rowAt + rowStart.length;
  return BigInt(json.slice(from, json.indexOf(',', from)));
}
