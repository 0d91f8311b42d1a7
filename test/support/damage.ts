import { Database } from 'bun:sqlite';
import { closeSync, openSync, writeSync } from 'node:fs';

const pageBytes = 4_096;

/** Overwrites the start of the first page of a table in a store that is not open. */
export function damage(path: string, table: string): void {
  overwritePages(path, ['SELECT rootpage AS page FROM sqlite_schema WHERE name = ?', table], [0]);
}

/** Overwrites the start of some of the leaf pages of a table, by their index, in a store that is not open. */
export function damageLeaves(path: string, table: string, indexes: readonly number[]): void {
  const leaves = "SELECT pageno AS page FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path";
  overwritePages(path, [leaves, table], indexes);
}

function overwritePages(
  path: string,
  [sql, table]: [sql: string, table: string],
  indexes: readonly number[],
): void {
  const data = new Database(path, { readonly: true });
  const pages = data.query<{ page: number }, [string]>(sql).all(table);
  data.close(true);
  const file = openSync(path, 'r+');
  for (const index of indexes) {
    const { page } = pages.at(index) as { page: number };
    writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, (page - 1) * pageBytes);
  }
  closeSync(file);
}
