import type { SQL } from 'bun';
import { type Versions, WriteUncertain } from '../storage.ts';
import type { PostgresDatabase } from './database.ts';
import type { Statement } from './pool.ts';

/**
 * Tells every instance of a change, by the version PostgreSQL gave it; of one whose version is not known, for perhaps
 * it was not made, by 0. Called after the commit, before it is acknowledged.
 */
export type Announce = (version: number) => Promise<void>;

/** A row of a statement that moves a version. */
export interface Versioned {
  readonly version: bigint;
}

/**
 * The assignment that moves the version of a row of `counters`, in the statement that makes the change. Versions are
 * microseconds of the server's clock, so that they are new ones also after the database was restored from a backup.
 */
export const risenVersion = (sql: SQL) =>
  sql`version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`;

/** The versions as they are committed: of animals, and of keys with all they stand for (plans, bans). */
export async function readVersions(database: PostgresDatabase): Promise<Versions> {
  const [row] = await database.read<{ callers: bigint; pets: bigint }[]>(
    (sql) => sql`
      SELECT (SELECT version FROM counters WHERE name = 'keys') AS callers,
             (SELECT version FROM counters WHERE name = 'pets') AS pets`,
  );
  return { callers: Number(row?.callers ?? 0n), pets: Number(row?.pets ?? 0n) };
}

/** Writes after which other instances have to read again. */
export class AnnouncedWrites {
  readonly #database: PostgresDatabase;
  readonly #announce: Announce;

  constructor(database: PostgresDatabase, announce: Announce) {
    this.#database = database;
    this.#announce = announce;
  }

  /** Runs a statement that returns the version it moved, as the database does. */
  async write<Row extends Versioned>(statement: Statement<Row[]>, dueAt?: number): Promise<Row[]> {
    const rows = await this.#database.write(statement, dueAt).catch(async (error) => {
      // It may be committed: whoever looks "whether it was done" must not be shown what was held before.
      if (error instanceof WriteUncertain) await this.#announce(0);
      throw error;
    });
    const [row] = rows;
    if (row !== undefined) await this.#announce(Number(row.version));
    return rows;
  }
}
