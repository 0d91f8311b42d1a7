/** Units that need a transaction: they read lists, or run statements written by hand. */
import type { Resource } from '../../domain/resources.ts';
import type { Settled } from '../group-queue.ts';
import type { Run } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { failureOf } from './failures.ts';
import type { Statement } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { lock } from './versions.ts';

/** After this part of the time-out a group begins no further unit: one rolled back late would block other instances. */
const longestPart = 1 / 8;

type Moved = Map<Resource, number>;

interface TransactionOptions {
  readonly database: PostgresDatabase;
  /** The versions that are raised are put here; 0 for one that is perhaps not raised. */
  readonly moved: Moved;
  readonly dueAt: number;
  readonly recordsEvents: boolean;
}

/**
 * Runs units in one transaction, which first locks what they write, so that what they read of it does not change until the
 * commit. It may stop early, after at least one.
 */
export function runInTransaction(
  runs: readonly Run[],
  { database, moved, dueAt, recordsEvents }: TransactionOptions,
): Promise<Settled<never>[]> {
  return database.transact(async (execute) => {
    moved.clear();
    const written = new Set(runs.flatMap(({ writes }) => writes));
    if (written.size > 0) await execute((sql) => lock(sql, written));
    const [first, ...others] = runs;
    const begin = (own: Moved) => new PostgresTransaction(execute, own, recordsEvents);
    // Without a savepoint: there are no other units to preserve.
    if (first !== undefined && others.length === 0) return settle(first, begin(moved));
    const enoughAt = performance.now() + database.statementTimeoutMs * longestPart;
    const settled: Settled<never>[] = [];
    const sent: Promise<unknown>[] = [];
    /** Sends a statement together with the next one, without a separate round trip. */
    const sendAhead = (statement: Statement<unknown>) => {
      const done = execute(statement);
      // Its failure shows in the next statement, or at the end.
      done.catch(() => undefined);
      sent.push(done);
    };
    for (const run of runs) {
      if (settled.length > 0 && performance.now() > enoughAt) break;
      settled.push(...(await settleApart(run, moved, begin, sendAhead)));
    }
    // Rejects with the reason of a failure: the commit would only report that it was rolled back.
    await Promise.all(sent);
    return settled;
  }, dueAt);
}

/** Runs it in a savepoint, so that its failure is undone without the other units. */
async function settleApart(
  run: Run,
  moved: Moved,
  begin: (own: Moved) => PostgresTransaction,
  sendAhead: (statement: Statement<unknown>) => void,
): Promise<Settled<never>[]> {
  sendAhead((sql) => sql`SAVEPOINT unit`);
  try {
    const own: Moved = new Map();
    const settled = await settle(run, begin(own));
    sendAhead((sql) => sql`RELEASE unit`);
    for (const [resource, version] of own) moved.set(resource, version);
    return settled;
  } catch (error) {
    if (concernsAll(error)) throw error;
    // Both, because a rollback keeps the savepoint.
    sendAhead((sql) => sql`ROLLBACK TO unit`);
    sendAhead((sql) => sql`RELEASE unit`);
    return run.calls.map(() => ({ error }));
  }
}

/** Runs it. Rejects with what it throws, or with a failure of the server, even if the unit caught that. */
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

/** Whether the connection or the server failed, or the time-out has passed. Other failures are the unit's own. */
function concernsAll(error: unknown): boolean {
  return failureOf(error) !== 'defect';
}
