/** Runs units that need a transaction because they read lists or use hand-written statements. */
import type { Resource } from '../../domain/resources.ts';
import type { Settled } from '../group-queue.ts';
import type { Run } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { TransactionResponses } from './entities/responses.ts';
import { isTransactionConflict, toFailure } from './failures.ts';
import type { Execute, Statement } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { addDependencies, lock } from './versions.ts';

/**
 * Fraction of the timeout after which a group starts no more units, because a late rollback would block other
 * instances.
 */
const maxShare = 1 / 8;

type Moved = Map<Resource, number>;

interface TransactionOptions {
  readonly database: PostgresDatabase;
  /** Receives the new version of each changed resource, or 0 if the version is unknown. */
  readonly moved: Moved;
  readonly dueAt: number;
  readonly recordsEvents: boolean;
}

/**
 * Runs units in one transaction. May stop early, after at least one unit. Units without an outcome must run again: if several
 * units conflict with other transactions twice, a client could otherwise cause the rejection of other clients' changes.
 */
export async function runInTransaction(
  runs: readonly Run[],
  options: TransactionOptions,
): Promise<(Settled<never> | undefined)[]> {
  try {
    return await options.database.transact((execute) => runAll(runs, execute, options), options.dueAt);
  } catch (error) {
    if (!isTransactionConflict(error) || runs.length === 1) throw error;
    options.moved.clear();
    return [];
  }
}

/** First locks the resources that the units write, so that data read from them does not change before the commit. */
async function runAll(
  runs: readonly Run[],
  execute: Execute,
  { database, moved, recordsEvents }: TransactionOptions,
): Promise<Settled<never>[]> {
  moved.clear();
  const written = new Set(runs.flatMap(({ writes }) => writes));
  if (written.size > 0) await execute((sql) => lock(sql, written));
  const [first, ...others] = runs;
  // A single unit needs no savepoint.
  if (first !== undefined && others.length === 0) {
    const alone = await settle(first, new PostgresTransaction(execute, moved, recordsEvents));
    if (moved.size === 0) addDependencies(moved, first.writes);
    return alone;
  }
  const responses = new TransactionResponses();
  const begin = (own: Moved) => new PostgresTransaction(execute, own, recordsEvents, responses);
  const deadline = performance.now() + database.statementTimeoutMs * maxShare;
  const settled: Settled<never>[] = [];
  const sent: Promise<unknown>[] = [];
  /** Sends a statement in the same batch as the next one, to save a round trip. */
  const sendAhead = (statement: Statement<unknown>) => {
    const done = execute(statement);
    // If the statement fails, the next statement or the final `Promise.all` reports the error.
    done.catch(() => undefined);
    sent.push(done);
  };
  for (const run of runs) {
    if (settled.length > 0 && performance.now() > deadline) break;
    settled.push(...(await settleSeparately(run, moved, begin, sendAhead)));
  }
  // Rejects with the original error, because the commit would only report a rollback.
  await Promise.all(sent);
  await responses.store(new PostgresTransaction(execute, moved, recordsEvents));
  return settled;
}

/** Runs a unit in a savepoint, so that a failure undoes only this unit. */
async function settleSeparately(
  run: Run,
  moved: Moved,
  begin: (own: Moved) => PostgresTransaction,
  sendAhead: (statement: Statement<unknown>) => void,
): Promise<Settled<never>[]> {
  sendAhead((sql) => sql`SAVEPOINT unit`);
  try {
    const own: Moved = new Map();
    const transaction = begin(own);
    const settled = await settle(run, transaction);
    transaction.succeeded();
    sendAhead((sql) => sql`RELEASE unit`);
    if (own.size === 0) addDependencies(moved, run.writes);
    for (const [resource, version] of own) moved.set(resource, version);
    return settled;
  } catch (error) {
    if (concernsAll(error)) throw error;
    // Both statements are needed, because ROLLBACK TO keeps the savepoint.
    sendAhead((sql) => sql`ROLLBACK TO unit`);
    sendAhead((sql) => sql`RELEASE unit`);
    return run.calls.map(() => ({ error }));
  }
}

/** Runs a unit. Rejects with the unit's error, or with a server failure, even if the unit caught that failure. */
export async function settle(run: Run, transaction: PostgresTransaction): Promise<Settled<never>[]> {
  try {
    const outcomes = await run.start(transaction.tables);
    await transaction.events.flush();
    if (transaction.failure !== undefined) throw transaction.failure;
    return outcomes.map((outcome) => ({ outcome: outcome as never }));
  } catch (error) {
    throw concernsAll(transaction.failure) ? transaction.failure : error;
  }
}

/**
 * Detects errors that affect all units: a failed connection or server, or a timeout. Other errors affect only the unit.
 */
function concernsAll(error: unknown): boolean {
  return toFailure(error) !== 'defect';
}
