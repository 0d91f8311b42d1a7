/** Builds indexes on tables that running instances change. */
import type { SQL } from 'bun';
import { StoreUnusableError } from '../../outages/errors.ts';
import { isCanceled } from './failures.ts';
import { MigrationLocked } from './migration-locks.ts';

export interface NewIndex {
  readonly name: string;
  readonly table: string;
  /** Statement for an empty store. */
  readonly create: string;
  /** Statement that does not block changes of the table, but cannot run in a transaction. */
  readonly createConcurrently: string;
}

/** A session outside a transaction, without timeouts. Through a pooler, each statement may run in another session. */
export interface Session {
  readonly sql: SQL;
  readonly throughPooler: boolean;
}

const createIndex = /^(CREATE (?:UNIQUE )?INDEX) ((\w+) ON (\w+) .+)$/s;

export function indexesIn(statements: string): NewIndex[] {
  return statements
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
    .map((statement) => {
      const [, create, index, name, table] = createIndex.exec(statement) ?? [];
      if (!name || !table) throw new Error(`This is not "CREATE INDEX name ON table …": ${statement}`);
      return {
        ...{ name, table },
        create: `${create} IF NOT EXISTS ${index}`,
        createConcurrently: `${create} CONCURRENTLY IF NOT EXISTS ${index}`,
      };
    });
}

/** Returns the first index that has not been built. Drops the invalid index left by a failed build. */
export async function prepareNextIndexBuild(
  transaction: SQL,
  indexes: readonly NewIndex[],
): Promise<NewIndex | undefined> {
  for (const index of indexes) {
    let isValid = await validityOf(transaction, index);
    if (isValid === false) {
      // A build holds this lock until it ends, even if the process that began it was killed.
      await transaction.unsafe(`LOCK TABLE ${index.table} IN SHARE UPDATE EXCLUSIVE MODE`);
      isValid = await validityOf(transaction, index);
      if (isValid === false) await transaction.unsafe(`DROP INDEX ${index.name}`);
    }
    if (!isValid) return index;
  }
  return undefined;
}

/** Undefined if the index does not exist. */
async function validityOf(transaction: SQL, { name }: NewIndex): Promise<boolean | undefined> {
  const [found] = await transaction<{ isValid: boolean }[]>`
    SELECT indisvalid AS "isValid" FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relname = ${name} AND relnamespace = current_schema()::regnamespace`;
  return found?.isValid;
}

/**
 * Builds an index. Waits for all older transactions in the database, without blocking other sessions. If it fails, it
 * leaves an invalid index.
 */
export async function buildIndex(
  index: NewIndex,
  { sql, throughPooler }: Session,
  lockId: number,
): Promise<void> {
  // A pooler may run the unlock in another session. Without the lock, two builds that begin at the same moment may wait
  // for each other until the server aborts one of them, which is then retried.
  if (!throughPooler) {
    const [{ isLocked }] = await sql`
      SELECT pg_try_advisory_lock(${lockId}, hashtext(current_schema())) AS "isLocked"`;
    if (!isLocked) throw new MigrationLocked('Another process is migrating the database.');
  }
  try {
    await sql.unsafe(index.createConcurrently).simple();
  } catch (error) {
    if (!isCanceled(error)) throw error;
    throw new StoreUnusableError(
      `Building the index ${index.name} was canceled, or took longer than the statement_timeout of the connection pooler's ` +
        'sessions. Run "animal-store migrate" with a DATABASE_URL that connects to PostgreSQL directly.',
      { cause: error },
    );
  } finally {
    if (!throughPooler) await sql`SELECT pg_advisory_unlock(${lockId}, hashtext(current_schema()))`;
  }
}
