import type { SQL } from 'bun';
import { outdatedStore, StorageUnusable } from '../storage.ts';
import { migrationSteps } from './migration-steps.ts';

/** Id of the advisory lock that allows only one process to migrate at a time ("AnSt" in ASCII). */
const lockId = 0x416e5374;

/**
 * Maximum idle time between two steps of a migration, in milliseconds. After that, the lock of a hung process is
 * released.
 */
const idleTimeoutMs = 60_000;

/**
 * Migrates the database, unless `migrates` is false. Sets up an empty database only if `create` is true. Returns the previous format, or 0 if the
 * database was empty or up to date. Throws `StorageUnusable`.
 */
export async function migrate(
  begin: <T>(work: (transaction: SQL) => Promise<T>) => Promise<T>,
  create: boolean,
  migrates: boolean,
): Promise<number> {
  return begin(async (transaction) => {
    const found = await versionOf(transaction);
    if (found === migrationSteps.length) return 0;
    if (!migrates && found > 0 && found < migrationSteps.length) {
      throw outdatedStore('The database', found, migrationSteps.length);
    }
    // Migrating, or waiting for another process to migrate, may take longer than a request's statement timeout.
    await transaction`SET LOCAL statement_timeout = 0`;
    await transaction.unsafe(`SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}`);
    await transaction`SELECT pg_advisory_xact_lock(${lockId})`;
    const version = await versionOf(transaction);
    if (version > migrationSteps.length) {
      throw new StorageUnusable(
        `The database was written by a newer version of the service (format ${version}, this version supports up ` +
          `to ${migrationSteps.length}). Use that version or a newer one.`,
      );
    }
    if (version === 0 && !create) {
      throw new StorageUnusable(
        'No store found in this PostgreSQL database and schema. Check DATABASE_URL, or create a store with ' +
          '"animal-store serve" or "animal-store import".',
      );
    }
    if (version === 0) await createFormat(transaction);
    for (const step of migrationSteps.slice(version)) {
      await (typeof step === 'string' ? transaction.unsafe(step) : step(transaction));
    }
    await transaction`UPDATE animal_store_format SET version = ${migrationSteps.length}`;
    return version === migrationSteps.length ? 0 : version;
  });
}

async function createFormat(sql: SQL): Promise<void> {
  const [{ others }] = await sql`
    SELECT count(*) AS others FROM information_schema.tables WHERE table_schema = current_schema()`;
  if (others > 0n) {
    throw new StorageUnusable(
      "The database contains another program's tables. Set DATABASE_URL to another database, or to a separate " +
        'schema (?search_path=NAME).',
    );
  }
  await sql.unsafe('CREATE TABLE animal_store_format (version integer NOT NULL)');
  await sql`INSERT INTO animal_store_format (version) VALUES (0)`;
}

async function versionOf(sql: SQL): Promise<number> {
  const [{ there }] = await sql`
    SELECT count(*) AS there FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_name = 'animal_store_format'`;
  if (there === 0n) return 0;
  const [{ version }] = await sql`SELECT version FROM animal_store_format`;
  return Number(version);
}
