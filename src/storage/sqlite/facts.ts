import type { Database } from 'bun:sqlite';
import type { StoreFacts } from '../admin.ts';
import { freeBytesOf, sizeOf } from './disk.ts';
import type { ReadIn } from './entities/entity.ts';

interface FactsRow {
  readonly version: string;
  readonly format: bigint;
  readonly pageBytes: bigint;
  readonly freePages: bigint;
}

export function factsOf(database: Database, limitFile: string, read: ReadIn): StoreFacts {
  const select = database.query<FactsRow, []>(
    `SELECT sqlite_version() AS version, user_version AS format, page_size AS pageBytes,
            freelist_count AS freePages
     FROM pragma_user_version, pragma_page_size, pragma_freelist_count`,
  );
  const row = read(() => select.get());
  const { filename } = database;
  return {
    engine: 'SQLite',
    sqliteVersion: row?.version ?? null,
    format: Number(row?.format),
    dataBytes: sizeOf(filename),
    walBytes: sizeOf(`${filename}-wal`),
    pageBytes: Number(row?.pageBytes),
    freePages: Number(row?.freePages),
    limitBytes: sizeOf(limitFile),
    freeBytes: freeBytesOf(filename),
  };
}
