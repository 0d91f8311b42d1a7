import type { Units } from '../transaction.ts';
import { type Format, openDatabase, writingCacheKib } from './database.ts';
import { FormatWatch } from './format-watch.ts';
import { SqliteWriter } from './writer.ts';

export interface OpenWriterOptions {
  /** A data file that is there and up to date. */
  readonly path: string;
  readonly format: Format;
  readonly units: Units;
  /** How long a write waits for its commit, in milliseconds. */
  readonly timeoutMs: number;
}

/** Opens the connection that writes. Throws `StorageUnusable`. */
export function openWriter({ path, format, units, timeoutMs }: OpenWriterOptions): SqliteWriter {
  const database = openDatabase({
    path,
    format,
    create: false,
    cacheKib: writingCacheKib,
    // It waits by itself.
    busyTimeoutMs: 0,
    lock: () => undefined,
  });
  // Savepoints copy pages before they are changed; past 64 KiB of them SQLite would write a file.
  database.run('PRAGMA temp_store = MEMORY');
  // Whoever reads the file tells operators of another format.
  const watch = new FormatWatch(database, () => undefined);
  return new SqliteWriter({ database, format: watch, units, timeoutMs });
}
