import type { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import type { StoreFacts } from '../admin.ts';
import { figure, freeBytesOf, sizeOf } from './disk.ts';
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
    dataBytes: figure(() => statSync(filename).size),
    walBytes: figure(() => sizeOf(`${filename}-wal`)),
    pageBytes: Number(row?.pageBytes),
    freePages: Number(row?.freePages),
    limitBytes: figure(() => sizeOf(limitFile)),
    freeBytes: figure(() => freeBytesOf(filename)),
  };
}
