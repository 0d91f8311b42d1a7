import { Database } from 'bun:sqlite';
import { closeSync, openSync, writeSync } from 'node:fs';

const pageBytes = 4_096;

/** Overwrites the start of the first page of a table in a store that is not open. */
export function damage(path: string, table: string): void {
  const data = new Database(path, { readonly: true });
  const select = data.query<{ page: number }, [string]>(
    'SELECT rootpage AS page FROM sqlite_schema WHERE name = ?',
  );
  const page = select.all(table)[0]?.page as number;
  data.close(true);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, (page - 1) * pageBytes);
  closeSync(file);
}
