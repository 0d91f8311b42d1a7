/** Writers and sessions of one store on PostgreSQL. */
import { expect } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { StorageUnavailable, WriteUncertainError } from '../../src/outages/errors.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { migrationSteps } from '../../src/storage/postgres/migration-steps.ts';
import type { Statement } from '../../src/storage/postgres/statements.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import type { Units, Writer } from '../../src/storage/transaction.ts';
import { until } from '../support/wait.ts';

export function openDatabase(
  url: string,
  statementTimeoutMs = 20_000,
  notice: (text: string) => void = () => {},
): PostgresDatabase {
  return new PostgresDatabase({ url, poolSize: 2, statementTimeoutMs, notice });
}

/** Opens a session that does not use the store's connections. */
export function openSession(url: string): SQL {
  return new SQL(url, { max: 1, bigint: true });
}

/**
 * Processes that hold or await a lock on a table of the session's schema. The build of an index also awaits other
 * transactions, but blocks none.
 */
export async function lockers(session: SQL, which: 'all' | 'waiting' = 'all'): Promise<number[]> {
  const rows: { pid: number }[] = await session`
    SELECT DISTINCT pid FROM pg_locks
    WHERE pid <> pg_backend_pid() AND (${which === 'all'} OR (NOT granted AND locktype <> 'virtualxid')) AND pid IN (
      SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
      WHERE relnamespace = current_schema()::regnamespace
    )`;
  return rows.map(({ pid }) => pid);
}

/** Resolves when a process waits for a lock on a table of the session's schema. */
export async function lockAwaited(session: SQL): Promise<void> {
  await until(async () => (await lockers(session, 'waiting')).length > 0);
}

/** Returns the given server processes that are still running. */
export async function alive(session: SQL, pids: readonly number[]): Promise<number[]> {
  const rows: { pid: number }[] = await session`
    SELECT pid FROM pg_stat_activity WHERE pid IN (SELECT value::int FROM json_array_elements_text(${JSON.stringify(pids)}::text::json))`;
  return rows.map(({ pid }) => pid).sort();
}

/** The outcome of a write or a read. */
export const outcomeOf = (done: Promise<unknown>): Promise<unknown> =>
  done.then(
    () => 'done',
    (error) => {
      if (error instanceof WriteUncertainError) return 'uncertain';
      return error instanceof StorageUnavailable ? 'unavailable' : error;
    },
  );

/** Expects the isolation level in reads, writes and transactions. */
export async function expectReadCommitted(database: PostgresDatabase): Promise<void> {
  const level: Statement<{ level: string }[]> = (sql) =>
    sql`SELECT current_setting('transaction_isolation') AS level`;
  const found = [
    await database.read(level),
    await database.write(level),
    await database.transact((execute) => execute(level), Number.POSITIVE_INFINITY),
  ];
  expect(found.map(([row]) => row?.level)).toEqual(Array(3).fill('read committed'));
}

/** Retries a write or read until it succeeds, because it may be rejected on a stalled machine. */
export async function untilDone(run: () => Promise<unknown>): Promise<void> {
  await until(async () => (await outcomeOf(run())) === 'done');
}

/**
 * Separate writers of one store. The result also records their announcements. `announced` can delay the announcements
 * of the writer with the given index.
 */
export async function openWriters<All extends Units>(
  url: string,
  units: All,
  count: number,
  statementTimeoutMs?: number,
  announced: (index: number) => Promise<void> = async () => undefined,
) {
  await using made = new AsyncDisposableStack();
  const announcements: [string, number][] = [];
  const writers: Writer<All>[] = [];
  for (let index = 0; index < count; index++) {
    const database = made.use(openDatabase(url, statementTimeoutMs));
    await database.migrate();
    const announce = async (resource: string, version: number) => {
      await announced(index);
      announcements.push([resource, version]);
    };
    const writer = new PostgresWriter(database, units, announce, { secret: 'c2VjcmV0' });
    made.defer(() => writer.idle());
    writers.push(writer as Writer<All>);
  }
  const kept = made.move();
  return { writers, announcements, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The format of version 1.1.0. */
export const formatOf11 = 10;

/** Creates an empty store of version 1.0.0. */
export async function writeStoreOf10(session: SQL): Promise<void> {
  const [step] = migrationSteps;
  await session.unsafe(`
    CREATE TABLE animal_store_format (version integer NOT NULL);
    INSERT INTO animal_store_format VALUES (${step?.format});
    ${step?.change}`);
}

/** Creates an empty store of version 1.1.0. */
export async function writeStoreOf11(session: SQL): Promise<void> {
  await session.unsafe(await Bun.file(join(import.meta.dir, 'store-1.1.0/postgres.sql')).text());
}

export async function formatIn(session: SQL): Promise<number> {
  const [{ version }] = await session`SELECT version FROM animal_store_format`;
  return version;
}

/** The stored counts and the counts computed from the animals, in total and by category. */
export async function inventories(session: SQL): Promise<{ kept: unknown; counted: unknown }> {
  const counts = `count(*) FILTER (WHERE status = 'available') AS available,
    count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'sold') AS sold`;
  const read = async (text: string) => [...(await session.unsafe(text))];
  const kept = [
    await read('SELECT available, pending, sold FROM inventory'),
    await read('SELECT * FROM inventory_by_category ORDER BY category_id'),
  ];
  const counted = [
    await read(`SELECT ${counts} FROM pets`),
    await read(`SELECT category_id, ${counts} FROM pets GROUP BY category_id ORDER BY category_id`),
  ];
  return { kept, counted };
}
