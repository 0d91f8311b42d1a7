import type { Resource } from '../../domain/resources.ts';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import { WriteUncertain } from '../storage.ts';
import type { Units, Writer } from '../transaction.ts';
import { type Call, type Run, runsOf } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { failureOf } from './failures.ts';
import type { Execute, Statement } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { lock } from './versions.ts';

/** Called between commit and acknowledgement; `version` is 0 if the outcome is unknown. */
type Announce = (resource: Resource, version: number) => Promise<void>;

/** After this part of the time-out a group begins no further unit: one rolled back late would block other instances. */
const longestPart = 1 / 8;

type Moved = Map<Resource, number>;

/**
 * Runs units of work: those that arrive together in one transaction, those of one batch as one statement. A transaction
 * first locks what its units write, so that what they read of it does not change until the commit.
 */
export class PostgresWriter implements Writer<Units> {
  readonly #database: PostgresDatabase;
  readonly #units: Units;
  readonly #events: boolean | undefined;
  readonly #announce: Announce;
  readonly #queue: GroupQueue<Call, never>;
  /** For units that write no resource, such as usage records, so that changes of clients do not wait for them. */
  readonly #sideQueue: GroupQueue<Call, never>;

  /** `events`: whether changes are recorded as events; defaults to true. */
  constructor(database: PostgresDatabase, units: Units, announce: Announce, events?: boolean) {
    this.#database = database;
    this.#units = units;
    this.#events = events;
    this.#announce = announce;
    const queue = () =>
      new GroupQueue<Call, never>(database.statementTimeoutMs, (calls, dueAt) => this.#commit(calls, dueAt));
    this.#queue = queue();
    this.#sideQueue = queue();
  }

  write(name: string, input: unknown): Promise<never> {
    const isBeside = this.#units[name]?.writes.length === 0;
    return (isBeside ? this.#sideQueue : this.#queue).add({ name, input });
  }

  get facts(): QueueFacts {
    const [facts, side] = [this.#queue.facts, this.#sideQueue.facts];
    return {
      groups: facts.groups + side.groups,
      units: facts.units + side.units,
      seconds: facts.seconds + side.seconds,
      waiting: facts.waiting + side.waiting,
    };
  }

  async idle(): Promise<void> {
    await Promise.all([this.#queue.idle(), this.#sideQueue.idle()]);
  }

  async #commit(calls: readonly Call[], dueAt: number): Promise<Settled<never>[]> {
    const runs = runsOf(this.#units, calls);
    const [first, ...others] = runs;
    const moved: Moved = new Map();
    try {
      const settled =
        first?.isOneCall && others.length === 0
          ? await this.#runAsStatement(first, moved, dueAt)
          : await this.#runInTransaction(runs, moved, dueAt);
      await Promise.all([...moved].map(([resource, version]) => this.#announce(resource, version)));
      return settled;
    } catch (error) {
      // It may be committed: a client that checks must not get cached data.
      if (error instanceof WriteUncertain) {
        await Promise.all([...moved.keys()].map((resource) => this.#announce(resource, 0)));
      }
      throw error;
    }
  }

  /** A batch is one statement, which needs no transaction around it: that would cost half as much again. */
  #runAsStatement(batch: Run, moved: Moved, dueAt: number): Promise<Settled<never>[]> {
    let isSent = false;
    const execute: Execute = (statement) => {
      if (isSent) throw new Error('A batch of work calls its transaction once.');
      isSent = true;
      return this.#database.write(statement, dueAt);
    };
    return settle(batch, this.#transaction(execute, moved));
  }

  #transaction(execute: Execute, moved: Moved): PostgresTransaction {
    return new PostgresTransaction(execute, moved, this.#events);
  }

  #runInTransaction(runs: readonly Run[], moved: Moved, dueAt: number): Promise<Settled<never>[]> {
    return this.#database.transact(async (execute) => {
      moved.clear();
      const written = new Set(runs.flatMap(({ writes }) => writes));
      if (written.size > 0) await execute((sql) => lock(sql, written));
      const [first, ...others] = runs;
      // Without a savepoint: there are no other units to preserve.
      if (first !== undefined && others.length === 0) return settle(first, this.#transaction(execute, moved));
      const enoughAt = performance.now() + this.#database.statementTimeoutMs * longestPart;
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
        const begin = (own: Moved) => this.#transaction(execute, own);
        settled.push(...(await settleApart(run, moved, begin, sendAhead)));
      }
      // Rejects with the reason of a failure: the commit would only report that it was rolled back.
      await Promise.all(sent);
      return settled;
    }, dueAt);
  }
}

/** Runs it in a savepoint, so that a failure of its own is undone without the other units. */
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
async function settle(run: Run, transaction: PostgresTransaction): Promise<Settled<never>[]> {
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
