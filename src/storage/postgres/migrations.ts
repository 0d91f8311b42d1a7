import type { SQL } from 'bun';
import { StoreUnusableError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { expectKnownFormat, outdatedStoreError } from '../store-errors.ts';
import { isCanceled } from './failures.ts';
import { buildIndex, type NewIndex, prepareNextIndexBuild, type Session } from './index-builds.ts';
import { type Begin, MigrationLocked, reportingWaits, whenUnlocked } from './migration-locks.ts';
import {
  apply,
  applyWithIndexes,
  type MigrationStep,
  migrationSteps,
  newestFormat,
} from './migration-steps.ts';

/**
 * First half of the key of the advisory lock that allows only one process to migrate a store at a time ("AnSt" in ASCII).
 * The second half is the hash of the schema, because a database may contain several stores.
 */
const lockId = 0x416e5374;

/**
 * Maximum time that a step waits for its locks, in milliseconds. Statements of running instances that need the same tables
 * queue behind the waiting step, so the time must be shorter than their timeout. It is also shorter than the default
 * `deadlock_timeout` (1 s), so that in a deadlock the migration gives up and not an instance.
 */
const lockTimeoutMs = 500;

/**
 * Maximum idle time between two statements of a step, in milliseconds. After that, the lock of a hung process is
 * released.
 */
const idleTimeoutMs = 60_000;

interface MigrateOptions {
  readonly begin: Begin;
  readonly session: <T>(work: (session: Session) => Promise<T>) => Promise<T>;
  /** Whether to set up an empty database. */
  readonly create: boolean;
  /** Whether to migrate a store; otherwise, an older one is rejected. */
  readonly migrates: boolean;
  readonly notice: Notify;
}

/**
 * Migrates the database. Each step is a transaction, which is retried if it cannot get its locks in time. Indexes on
 * existing tables are built before the transaction of their step. Returns the previous format, or 0 if the database was
 * empty or up to date. Throws `StoreUnusableError`.
 */
export async function migrate(options: MigrateOptions): Promise<number> {
  const { begin, session, create, migrates, notice } = options;
  let former = 0;
  if (create || migrates) await begin(expectUnicode);
  for (let version = await begin(versionOf); version !== newestFormat; ) {
    expectUsable(version, create);
    if (!migrates && version > 0) throw outdatedStoreError('The database', version, newestFormat);
    const next = migrationSteps.find(({ format }) => format > version)?.format;
    const name = version === 0 ? 'creating the store' : `migrating the database to format ${next}`;
    const retrying = { name, begin, notice, lockTimeoutMs, lockId };
    const step = async () => {
      const { unbuilt, ...taken } = await begin((transaction) => takeStep(transaction, create));
      if (unbuilt !== undefined) {
        notice(`${name}: building the index ${unbuilt.name} on ${unbuilt.table}`);
        const built = session((opened) => buildIndex(unbuilt, opened, lockId));
        await reportingWaits(built, retrying);
      }
      return taken;
    };
    const taken = await whenUnlocked(step, retrying);
    if (former === 0 && taken.to > taken.from) former = taken.from;
    version = taken.to;
  }
  return former;
}

interface Taken {
  readonly from: number;
  readonly to: number;
  /** The index to build before the step can be applied. */
  readonly unbuilt?: NewIndex;
}

/** Runs the next step, if there is one. An empty database is set up in a single transaction. */
async function takeStep(transaction: SQL, create: boolean): Promise<Taken> {
  // A step may run longer than a request's statement timeout.
  await transaction.unsafe(`
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = ${lockTimeoutMs};
    SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}`);
  const [{ schema, isLocked }] = await transaction`
    SELECT current_schema() AS schema, pg_try_advisory_xact_lock(${lockId}, hashtext(current_schema())) AS "isLocked"`;
  if (schema === null) {
    throw new StoreUnusableError(
      'The schema in the search_path of DATABASE_URL or of the role does not exist, or the role may not use it. Create ' +
        'it (CREATE SCHEMA), or grant the role USAGE and CREATE on it.',
    );
  }
  if (!isLocked) throw new MigrationLocked('Another process is migrating the database.');
  const from = await versionOf(transaction);
  expectUsable(from, create);
  const missing = migrationSteps.filter(({ format }) => format > from);
  const [next] = missing;
  if (next === undefined) return { from, to: from };
  if (from === 0) {
    await createFormat(transaction);
    for (const step of missing) await applyWithIndexes(step, transaction);
  } else {
    await expectNoLeftovers(transaction, missing);
    const unbuilt = await prepareNextIndexBuild(transaction, next.indexes);
    if (unbuilt !== undefined) return { from, to: from, unbuilt };
    await transaction.unsafe(next.newTables);
    await lockTables(transaction, next.locks);
    await apply(next, transaction);
  }
  const to = from === 0 ? newestFormat : next.format;
  await transaction`UPDATE animal_store_format SET version = ${to}`;
  return { from, to };
}

/** Locks tables in this order. Throws `MigrationLocked` if it takes longer than the time for a single lock. */
async function lockTables(transaction: SQL, names: string): Promise<void> {
  if (names === '') return;
  try {
    await transaction.unsafe(`
      SET LOCAL statement_timeout = ${lockTimeoutMs};
      LOCK TABLE ${names};
      SET LOCAL statement_timeout = 0`);
  } catch (error) {
    if (!isCanceled(error)) throw error;
    throw new MigrationLocked('Other sessions have locked tables of the store.', { cause: error });
  }
}

/**
 * Throws `StoreUnusableError` for an encoding that cannot represent every name, because PostgreSQL would reject the
 * whole group of changes in which such a name occurs. SQL_ASCII stores UTF-8 unchanged.
 */
async function expectUnicode(transaction: SQL): Promise<void> {
  const [{ encoding }] = await transaction<[{ encoding: string }]>`SELECT getdatabaseencoding() AS encoding`;
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
  throw new StoreUnusableError(
    `The encoding of the PostgreSQL database is ${encoding}, which cannot store every name. Create a database with ` +
      '"createdb --encoding=UTF8 --template=template0 --locale=C NAME", and set DATABASE_URL to it. An existing store can ' +
      'be moved there with pg_dump and pg_restore.',
  );
}

function expectUsable(version: number, create: boolean): void {
  if (version > 0) expectKnownFormat('The database', version, migrationSteps);
  else if (!create) {
    throw new StoreUnusableError(
      'No store found in this PostgreSQL database and schema. Check DATABASE_URL, or create a store with ' +
        '"animal-store serve" or "animal-store import".',
    );
  }
}

async function createFormat(sql: SQL): Promise<void> {
  const [{ others }] = await sql`
    SELECT count(*) AS others FROM information_schema.tables WHERE table_schema = current_schema()`;
  if (others > 0n) {
    throw new StoreUnusableError(
      "The database contains another program's tables. Set DATABASE_URL to another database, or to a separate " +
        'schema (?search_path=NAME).',
    );
  }
  await sql.unsafe('CREATE TABLE animal_store_format (version integer NOT NULL)');
  await sql`INSERT INTO animal_store_format (version) VALUES (0)`;
}

async function versionOf(sql: SQL): Promise<number> {
  const [{ tables }] = await sql`
    SELECT count(*) AS tables FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_name = 'animal_store_format'`;
  if (tables === 0n) return 0;
  const [{ version }] = await sql`SELECT version FROM animal_store_format`;
  return Number(version);
}

const createTable = /\bCREATE TABLE (\w+)/g;

/**
 * Throws `StoreUnusableError` if tables that the steps would create already exist. `pg_restore --clean` leaves them
 * behind when it restores the dump of an older version over a store. Their rows belong to the former store, so a step
 * must not adopt them. Functions are replaced, and triggers and indexes are dropped with the tables of the dump.
 */
async function expectNoLeftovers(
  transaction: SQL,
  steps: readonly Pick<MigrationStep, 'newTables' | 'change'>[],
): Promise<void> {
  const texts = steps.flatMap(({ newTables, change }) => [newTables, change]);
  const created = texts.flatMap((text) => [...text.matchAll(createTable)]).map(([, name]) => name);
  const [{ leftovers }] = await transaction<[{ leftovers: string | null }]>`
    SELECT string_agg(format('%I.%I', schemaname, tablename), ', ' ORDER BY tablename) AS leftovers FROM pg_tables
    WHERE schemaname = current_schema()
      AND tablename IN (SELECT json_array_elements_text(${JSON.stringify(created)}::text::json))`;
  if (leftovers === null) return;
  throw new StoreUnusableError(
    'The database contains tables of a newer version, because a dump of an older version was restored over them, and ' +
      '"pg_restore --clean" does not remove tables that the dump does not contain. Remove them with psql, and try again: ' +
      `DROP TABLE ${leftovers};`,
  );
}
