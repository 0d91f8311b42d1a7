import type { SQL } from 'bun';
import type { Versions } from '../storage.ts';
import type { PostgresDatabase } from './database.ts';

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
