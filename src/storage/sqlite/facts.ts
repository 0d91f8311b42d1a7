import type { Database } from 'bun:sqlite';
import type { StoreFacts } from '../admin.ts';
import { freeBytesOf, sizeOf } from './disk.ts';
import type { Snapshot } from './snapshot.ts';

interface FactsRow {
  readonly version: string;
  readonly format: bigint;
  readonly pageBytes: bigint;
  readonly freePages: bigint;
}

export class SqliteFacts {
  readonly #database: Database;
  readonly #limitFile: string;
  readonly #snapshot: Snapshot;
  readonly #select;

  constructor(database: Database, limitFile: string, snapshot: Snapshot) {
    this.#database = database;
    this.#limitFile = limitFile;
    this.#snapshot = snapshot;
    this.#select = database.query<FactsRow, []>(
      `SELECT sqlite_version() AS version, user_version AS format, page_size AS pageBytes,
              freelist_count AS freePages
       FROM pragma_user_version, pragma_page_size, pragma_freelist_count`,
    );
  }

  read(): StoreFacts {
    const row = this.#snapshot.read(() => this.#select.get());
    const { filename } = this.#database;
    return {
      engine: 'SQLite',
      sqliteVersion: row?.version ?? null,
      format: Number(row?.format),
      dataBytes: sizeOf(filename),
      walBytes: sizeOf(`${filename}-wal`),
      pageBytes: Number(row?.pageBytes),
      freePages: Number(row?.freePages),
      limitBytes: sizeOf(this.#limitFile),
      freeBytes: freeBytesOf(filename),
    };
  }
}
