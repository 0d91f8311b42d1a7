import { ApiError } from '../../contract/api-error.ts';
import type { Resource } from '../../domain/resources.ts';
import { StorageUnavailable, WriteUncertainError } from '../../outages/errors.ts';
import { tables } from '../../tables/tables.ts';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import type { Units, Writer } from '../transaction.ts';
import { declaredWrites, groupIntoRuns, type Run, type UnitCall } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { commitGroup } from './groups/commit.ts';
import { NeedsTransaction } from './groups/entity.ts';
import { commitLocked } from './groups/locked.ts';
import { ProvisionalIds } from './groups/provisional-ids.ts';
import type { LockOrder } from './groups/statement.ts';
import type { Execute, Runner, Statement } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { runInTransaction, settle } from './unit-transactions.ts';
import { readState, type ServerState, unknownVersion } from './versions.ts';

/** Called between the commit and its acknowledgement. `version` is 0 if the outcome is unknown. */
export type Announce = (resource: Resource, version: number) => Promise<void>;

type Moved = Map<Resource, number>;

/**
 * Resources whose units run in a transaction. All other units run in memory (`groups/`), and again in a transaction if
 * they turn out to need one, because they read a list or use a hand-written statement.
 */
const transactional = new Set(
  tables.filter((its) => its.notGrouped !== undefined).map((its) => its.resource),
);

/**
 * Commits something, so that this statement waits until a synchronous standby has received all earlier commits. This is
 * necessary because PostgreSQL makes a change visible while its commit is still waiting, and also if the wait is
 * canceled.
 */
const awaitStandby: Statement<unknown> = (sql) =>
  sql`SELECT pg_logical_emit_message(true, 'animal-store', '')`;

/** Fraction of the timeout after which a change that keeps conflicting is retried with row locks. */
const optimisticPart = 1 / 8;

type Commit = (runs: readonly Run[], moved: Moved, dueAt: number) => Promise<(Settled<never> | undefined)[]>;

interface PostgresWriterOptions {
  /** 48 random bits, encoded as 8 base64 characters. */
  readonly secret: string;
  /** Whether to record changes as events; defaults to true. */
  readonly events?: boolean | undefined;
  /** Whether instances of version 1.1.0 may be running; defaults to never. */
  readonly hasFormerInstances?: () => boolean;
}

/**
 * Runs units of work. Units that arrive at about the same time form a group, except units that write no resource, such as
 * usage records. Catalog changes, transactions and units that write no resource have separate queues and never wait for each
 * other.
 */
export class PostgresWriter implements Writer<Units> {
  readonly #database: PostgresDatabase;
  readonly #units: Units;
  readonly #announce: Announce;
  readonly #catalog: GroupQueue<UnitCall, never>;
  /** Catalog changes that repeatedly conflict with changes by other instances. */
  readonly #contended: GroupQueue<UnitCall, never>;
  readonly #transactions: GroupQueue<UnitCall, never>;
  readonly #records: GroupQueue<UnitCall, never>;

  constructor(
    database: PostgresDatabase,
    units: Units,
    announce: Announce,
    { secret, events = true, hasFormerInstances = () => false }: PostgresWriterOptions,
  ) {
    this.#database = database;
    this.#units = units;
    this.#announce = announce;
    const ids = new ProvisionalIds(secret);
    const group = () => {
      const order: LockOrder = hasFormerInstances() ? 'counters first' : 'rows first';
      return { database, ids, recordsEvents: events, order };
    };
    const queue = (commit: Commit, groupSize?: number) => {
      const commitAll = async (calls: readonly UnitCall[], dueAt: number, duesAt: readonly number[]) =>
        this.#withTransactions(calls, await this.#commit(calls, dueAt, commit), duesAt);
      return new GroupQueue<UnitCall, never>(database.statementTimeoutMs, commitAll, groupSize);
    };
    const optimistic: Commit = (runs, moved, dueAt) => {
      const [first, ...others] = runs;
      if (first?.isOneCall && others.length === 0) return this.#runAsStatement(first, moved, dueAt, events);
      return commitGroup(runs, { ...group(), moved, dueAt });
    };
    this.#catalog = new GroupQueue(database.statementTimeoutMs, async (calls, dueAt, duesAt) => {
      const settled = this.#withTransactions(calls, await this.#commit(calls, dueAt, optimistic), duesAt);
      const latestStart = performance.now() + database.statementTimeoutMs * (1 - optimisticPart);
      return calls.map((call, index) => {
        const due = duesAt[index] ?? 0;
        return (
          settled[index] ??
          (due < latestStart ? { outcome: this.#contended.add(call, due) as never } : undefined)
        );
      });
    });
    this.#contended = queue((runs, moved, dueAt) => commitLocked(runs, { ...group(), moved, dueAt }));
    const transactions: Commit = (runs, moved, dueAt) =>
      runInTransaction(runs, { database, moved, dueAt, recordsEvents: events });
    this.#transactions = queue(transactions);
    // Records share no lock that is taken first, so that several in one transaction could lock rows in different orders.
    this.#records = queue(transactions, 1);
  }

  write(name: string, input: unknown): Promise<never> {
    return this.#queueOf(name, input).add({ name, input });
  }

  get facts(): QueueFacts {
    const queues = this.#queues.map(({ facts }) => facts);
    const sum = (of: (facts: QueueFacts) => number) => queues.reduce((total, facts) => total + of(facts), 0);
    return {
      groups: sum(({ groups }) => groups),
      units: sum(({ units }) => units),
      seconds: sum(({ seconds }) => seconds),
      waiting: sum(({ waiting }) => waiting),
    };
  }

  async idle(): Promise<void> {
    // In the order in which a unit may move from one queue to another.
    for (const queue of [this.#catalog, this.#contended, this.#transactions, this.#records])
      await queue.idle();
  }

  get #queues(): readonly GroupQueue<UnitCall, never>[] {
    return [this.#catalog, this.#transactions, this.#records];
  }

  #queueOf(name: string, input: unknown): GroupQueue<UnitCall, never> {
    const unit = this.#units[name];
    const writes = unit === undefined ? [] : declaredWrites(unit, input);
    if (writes.length === 0) return this.#records;
    return writes.some((resource) => transactional.has(resource)) ? this.#transactions : this.#catalog;
  }

  /** Moves units that need a transaction to the queue of transactions. They changed nothing so far. */
  #withTransactions(
    calls: readonly UnitCall[],
    settled: readonly (Settled<never> | undefined)[],
    duesAt: readonly number[],
  ): (Settled<never> | undefined)[] {
    return calls.map((call, index) => {
      const its = settled[index];
      const isMoved = its !== undefined && 'error' in its && its.error instanceof NeedsTransaction;
      return isMoved ? { outcome: this.#transactions.add(call, duesAt[index]) as never } : its;
    });
  }

  async #commit(
    calls: readonly UnitCall[],
    dueAt: number,
    commit: Commit,
  ): Promise<(Settled<never> | undefined)[]> {
    const moved: Moved = new Map();
    try {
      const settled = await commit(groupIntoRuns(this.#units, calls), moved, dueAt);
      await this.#confirmUnchanged(moved, dueAt);
      const isRefused = settled.some((its) => its !== undefined && 'error' in its && isApiError(its.error));
      if (isRefused && moved.size === 0) await this.#readState(true, dueAt);
      await this.#announceAll(moved);
      return settled;
    } catch (error) {
      if (error instanceof WriteUncertainError) {
        // The change may be committed, so a client that checks for it must not receive cached data.
        await this.#announceAll(new Map([...moved.keys()].map((resource) => [resource, 0])));
      } else if (isApiError(error)) {
        await this.#readState(true, dueAt);
      }
      throw error;
    }
  }

  async #announceAll(moved: Moved): Promise<void> {
    await Promise.all([...moved].map(([resource, version]) => this.#announce(resource, version)));
  }

  /**
   * For units that changed nothing, such as replays of a stored response, reads the versions of the resources that they
   * depend on. Another instance may have committed these versions without having announced them yet, so this instance
   * announces them as well. If there is a synchronous standby, waits until it has them.
   */
  async #confirmUnchanged(moved: Moved, dueAt: number): Promise<void> {
    const unchanged = [...moved].filter(([, version]) => version === unknownVersion);
    if (unchanged.length === 0) return;
    // The commit of a change has already waited for the standby.
    const state = await this.#readState(unchanged.length === moved.size, dueAt);
    // If the versions cannot be read, announces 0, which means that the version is unknown.
    for (const [resource] of unchanged) moved.set(resource, state?.versions[resource] ?? 0);
  }

  /**
   * Reads the state of the server. If `waits` is true and there is a synchronous standby, waits until the standby has
   * received the data that was read. Rejected requests wait as well, because an error also reveals data, such as that
   * an animal no longer exists.
   */
  async #readState(waits: boolean, dueAt: number): Promise<ServerState | undefined> {
    const runner: Runner = { run: (statement) => this.#database.read(statement, dueAt) };
    const state = await readState(runner).catch(() => undefined);
    if (waits && state?.hasSynchronousStandby !== false) await this.#database.write(awaitStandby, dueAt);
    return state;
  }

  /** Runs a batch as one statement, without a transaction. A transaction would cost 50% more. */
  #runAsStatement(
    batch: Run,
    moved: Moved,
    dueAt: number,
    recordsEvents: boolean,
  ): Promise<Settled<never>[]> {
    let isSent = false;
    const execute: Execute = (statement) => {
      if (isSent) throw new Error('A batch must call its transaction exactly once.');
      isSent = true;
      return this.#database.write(statement, dueAt);
    };
    return settle(batch, new PostgresTransaction(execute, moved, recordsEvents));
  }
}

/** Whether a unit rejected its request because of what it read. */
function isApiError(error: unknown): boolean {
  return error instanceof ApiError && !(error instanceof StorageUnavailable);
}
