import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import type { Units, Writer } from '../transaction.ts';
import { type Call, type Run, runsOf } from '../unit-of-work.ts';
import { commitFailure, isBusy, isPassing } from './database.ts';
import type { FormatWatch } from './format-watch.ts';
import { SqliteTransaction } from './transaction.ts';

const lockRetryMs = 2;

export interface SqliteWriterOptions {
  /** Nobody else's. */
  readonly database: Database;
  readonly format: FormatWatch;
  readonly units: Units;
  /** How long a write waits for its commit, in milliseconds: behind other groups, and for the lock another process holds. */
  readonly timeoutMs: number;
}

/** Runs units of work, the ones that arrive together in one transaction: one sync of the disk for all of them. */
export class SqliteWriter implements Writer<Units>, AsyncDisposable {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #units: Units;
  readonly #transaction: SqliteTransaction;
  readonly #queue: GroupQueue<Call, never>;

  constructor({ database, format, units, timeoutMs }: SqliteWriterOptions) {
    this.#database = database;
    this.#format = format;
    this.#units = units;
    this.#transaction = new SqliteTransaction(database);
    this.#queue = new GroupQueue(timeoutMs, (calls, dueAt) => this.#commit(calls, dueAt));
  }

  write(name: string, input: unknown): Promise<never> {
    return this.#queue.add({ name, input });
  }

  /** What was written since it was opened. */
  get facts(): QueueFacts {
    return this.#queue.facts;
  }

  /** Waits for what was asked for until now, then closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.idle();
    this.#database.close();
  }

  async #commit(calls: readonly Call[], dueAt: number): Promise<Settled<never>[]> {
    try {
      await this.#begin(dueAt);
      this.#format.verify();
      const runs = runsOf(this.#units, calls);
      const isAlone = runs.length === 1;
      const settled: Settled<never>[] = [];
      for (const run of runs) settled.push(...(await (isAlone ? this.#runAlone(run) : this.#runApart(run))));
      if (!this.#database.inTransaction) return settled;
      this.#transaction.finishGroup();
      this.#execute('COMMIT');
      return settled;
    } catch (error) {
      this.#transaction.forgetGroup();
      if (this.#database.inTransaction) this.#execute('ROLLBACK');
      throw commitFailure(error);
    }
  }

  /** Takes the lock. Waiting for other processes in SQLite would hold up whatever else this thread does. */
  async #begin(dueAt: number): Promise<void> {
    for (;;) {
      try {
        this.#execute('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > dueAt) throw error;
        await sleep(lockRetryMs);
      }
    }
  }

  /** Without a savepoint, for which SQLite copies each page before it is changed: there is no neighbour to spare. */
  #runAlone(run: Run): Promise<Settled<never>[]> {
    return this.#settle(run, () => this.#execute('ROLLBACK'));
  }

  /** What fails is undone without its neighbours. */
  async #runApart(run: Run): Promise<Settled<never>[]> {
    this.#execute('SAVEPOINT unit');
    const settled = await this.#settle(run, () => this.#execute('ROLLBACK TO unit'));
    this.#execute('RELEASE unit');
    return settled;
  }

  /** Runs it, and undoes it when it fails; not so when the disk does, which all of the group share. */
  async #settle(run: Run, undo: () => void): Promise<Settled<never>[]> {
    try {
      const outcomes = await run.start(this.#transaction);
      this.#transaction.keepUnit(run.writes);
      return outcomes.map((outcome) => ({ outcome: outcome as never }));
    } catch (error) {
      this.#transaction.forgetUnit();
      if (isPassing(error) || !this.#database.inTransaction) throw error;
      undo();
      return run.calls.map(() => ({ error }));
    }
  }

  #execute(statement: string): void {
    this.#database.query(statement).run();
  }
}
