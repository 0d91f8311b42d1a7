import type { Resource } from '../../domain/resources.ts';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import { WriteUncertain } from '../storage.ts';
import type { Units, Writer } from '../transaction.ts';
import { type Call, type Run, runsOf, writesOf } from '../unit-of-work.ts';
import type { PostgresDatabase } from './database.ts';
import { commitGroup } from './groups/commit.ts';
import { ProvisionalIds } from './groups/provisional-ids.ts';
import type { Execute } from './statements.ts';
import { PostgresTransaction } from './transaction.ts';
import { runInTransaction, settle } from './unit-transactions.ts';

/** Called between commit and acknowledgement; `version` is 0 if the outcome is unknown. */
type Announce = (resource: Resource, version: number) => Promise<void>;

export type Moved = Map<Resource, number>;

/** Units that write these read lists, or run statements written by hand. All others are run in memory (`groups/`). */
const transactional: ReadonlySet<Resource> = new Set<Resource>(['callers', 'webhooks']);

type Commit = (runs: readonly Run[], moved: Moved, dueAt: number) => Promise<(Settled<never> | undefined)[]>;

export interface PostgresWriterOptions {
  /** 48 random bits, as 8 characters of base64. */
  readonly secret: string;
  /** Whether changes are recorded as events; defaults to true. */
  readonly events?: boolean | undefined;
}

/**
 * Runs units of work: those that arrive together are one group. Changes of the catalogue, transactions, and units that write
 * no resource, such as usage records, have a queue each, so that none waits for another kind.
 */
export class PostgresWriter implements Writer<Units> {
  readonly #database: PostgresDatabase;
  readonly #units: Units;
  readonly #announce: Announce;
  readonly #catalogue: GroupQueue<Call, never>;
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
    this.#catalogue = queue((runs, moved, dueAt) => {
      const [first, ...others] = runs;
      if (first?.isOneCall && others.length === 0) return this.#runAsStatement(first, moved, dueAt, events);
      return commitGroup(runs, { database, ids, recordsEvents: events, moved, dueAt });
    });
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
  #runAsStatement(
    batch: Run,
    moved: Moved,
    dueAt: number,
    recordsEvents: boolean,
  ): Promise<Settled<never>[]> {
    let isSent = false;
    const execute: Execute = (statement) => {
      if (isSent) throw new Error('A batch of work calls its transaction once.');
      isSent = true;
      return this.#database.write(statement, dueAt);
    };
    return settle(batch, new PostgresTransaction(execute, moved, recordsEvents));
  }
}
