import type { Units } from '../storage.ts';
import { openDatabase } from './database.ts';
import { FormatWatch } from './format-watch.ts';
import { dataFormat } from './migrations.ts';
import { SqliteWriter } from './writer.ts';

/** How long a write waits for its commit: behind other groups, and for the lock another process holds. */
const commitTimeoutMs = 5_000;

/** Opens the connection that writes to a data file that is there and up to date. Throws `StorageUnusable`. */
export function openWriter(path: string, units: Units, timeoutMs = commitTimeoutMs): SqliteWriter {
  const database = openDatabase({
    path,
    format: dataFormat,
    create: false,
    synchronous: 'FULL',
    // It waits by itself.
    busyTimeoutMs: 0,
    lock: () => undefined,
  });
  // Whoever reads the file tells operators of another format.
  const format = new FormatWatch(database, () => undefined);
  return new SqliteWriter({ database, format, units, timeoutMs });
}
