import type { Resource } from '../../domain/resources.ts';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import { WriteUncertain } from '../storage.ts';
import type { Units, Writer } from '../transaction.ts';
import { type Call, type Run, runsOf, writesOf } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { commitGroup } from './groups/commit.ts';
import { commitLocked } from './groups/locked.ts';
import { ProvisionalIds } from './groups/provisional-ids.ts';
import type { Execute, Runner } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { runInTransaction, settle } from './unit-transactions.ts';
import { readState, unread } from './versions.ts';

/** Called between the commit and its acknowledgement. `version` is 0 if the outcome is unknown. */
export type Announce = (resource: Resource, version: number) => Promise<void>;

export type Moved = Map<Resource, number>;

/**
 * Resources whose units need a transaction, because they read lists or use hand-written statements. All other units run
 * in memory (`groups/`).
 */
const transactional: ReadonlySet<Resource> = new Set<Resource>(['callers', 'webhooks']);

/** Fraction of the timeout after which a change that keeps conflicting is retried with row locks. */
const optimisticPart = 1 / 8;

type Commit = (runs: readonly Run[], moved: Moved, dueAt: number) => Promise<(Settled<never> | undefined)[]>;

export interface PostgresWriterOptions {
  /** 48 random bits, encoded as 8 base64 characters. */
  readonly secret: string;
  /** Whether to record changes as events; defaults to true. */
  readonly events?: boolean | undefined;
}

/**
 * Runs units of work. Units that arrive at about the same time form a group. Catalog changes, transactions, and units
 * that write no resource, such as usage records, have separate queues and never wait for each other.
 */
export class PostgresWriter implements Writer<Units> {
  readonly #database: PostgresDatabase;
  readonly #units: Units;
  readonly #announce: Announce;
  readonly #catalogue: GroupQueue<Call, never>;
  /** Catalog changes that repeatedly conflict with changes by other instances. */
  readonly #contended: GroupQueue<Call, never>;
  readonly #transactions: GroupQueue<Call, never>;
  readonly #records: GroupQueue<Call, never>;

  constructor(
    database: PostgresDatabase,
    units: Units,
    announce: Announce,
    { secret, events = true }: PostgresWriterOptions,
  ) {
    this.#database = database;
    this.#units = units;
    this.#announce = announce;
    const ids = new ProvisionalIds(secret);
    const queue = (commit: Commit) =>
      new GroupQueue<Call, never>(database.statementTimeoutMs, (calls, dueAt) =>
        this.#commit(calls, dueAt, commit),
      );
    const optimistic: Commit = (runs, moved, dueAt) => {
      const [first, ...others] = runs;
      if (first?.isOneCall && others.length === 0) return this.#runAsStatement(first, moved, dueAt, events);
      return commitGroup(runs, { database, ids, recordsEvents: events, moved, dueAt });
    };
    this.#catalogue = new GroupQueue(database.statementTimeoutMs, async (calls, dueAt, duesAt) => {
      const settled = await this.#commit(calls, dueAt, optimistic);
      const latestStart = performance.now() + database.statementTimeoutMs * (1 - optimisticPart);
      return calls.map((call, index) => {
        const due = duesAt[index] ?? 0;
        return (
          settled[index] ??
          (due < latestStart ? { outcome: this.#contended.add(call, due) as never } : undefined)
        );
      });
    });
    this.#contended = queue((runs, moved, dueAt) =>
      commitLocked(runs, { database, ids, recordsEvents: events, moved, dueAt }),
    );
    const transactions: Commit = (runs, moved, dueAt) =>
      runInTransaction(runs, { database, moved, dueAt, recordsEvents: events });
    this.#transactions = queue(transactions);
    this.#records = queue(transactions);
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
    await Promise.all(this.#queues.map((queue) => queue.idle()));
    await this.#contended.idle();
  }

  get #queues(): readonly GroupQueue<Call, never>[] {
    return [this.#catalogue, this.#transactions, this.#records];
  }

  #queueOf(name: string, input: unknown): GroupQueue<Call, never> {
    const unit = this.#units[name];
    const writes = unit === undefined ? [] : writesOf(unit, input);
    if (writes.length === 0) return this.#records;
    return writes.some((resource) => transactional.has(resource)) ? this.#transactions : this.#catalogue;
  }

  async #commit(
    calls: readonly Call[],
    dueAt: number,
    commit: Commit,
  ): Promise<(Settled<never> | undefined)[]> {
    const moved: Moved = new Map();
    try {
      const settled = await commit(runsOf(this.#units, calls), moved, dueAt);
      await this.#readUnread(moved, dueAt);
      await Promise.all([...moved].map(([resource, version]) => this.#announce(resource, version)));
      return settled;
    } catch (error) {
      // The change may be committed, so a client that checks for it must not receive cached data.
      if (error instanceof WriteUncertain) {
        await Promise.all([...moved.keys()].map((resource) => this.#announce(resource, 0)));
      }
      throw error;
    }
  }

  /**
   * For units that changed nothing, such as replays of a stored response, reads the versions of the resources that they
   * depend on. Another instance may have committed these versions without having announced them yet, so this instance
   * announces them as well.
   */
  async #readUnread(moved: Moved, dueAt: number): Promise<void> {
    const rested = [...moved].filter(([, version]) => version === unread);
    if (rested.length === 0) return;
    const runner: Runner = { run: (statement) => this.#database.read(statement, dueAt) };
    // If the versions cannot be read, announces 0, which means that the version is unknown.
    const versions = (await readState(runner).catch(() => undefined))?.versions;
    for (const [resource] of rested) moved.set(resource, versions?.[resource] ?? 0);
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
