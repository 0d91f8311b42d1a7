import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupQueue, type Settled } from '../group-queue.ts';
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

  /** Waits for what was asked for until now, then closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.idle();
    this.#database.close();
  }

  async #commit(calls: readonly Call[], dueAt: number): Promise<Settled<never>[]> {
    try {
      await this.#begin(dueAt);
      this.#format.verify();
      const settled: Settled<never>[] = [];
      for (const run of runsOf(this.#units, calls)) settled.push(...(await this.#runApart(run)));
      this.#database.query('COMMIT').run();
      return settled;
    } catch (error) {
      if (this.#database.inTransaction) this.#database.query('ROLLBACK').run();
      throw commitFailure(error);
    }
  }

  /** Takes the lock. Waiting for other processes in SQLite would hold up whatever else this thread does. */
  async #begin(dueAt: number): Promise<void> {
    for (;;) {
      try {
        this.#database.query('BEGIN IMMEDIATE').run();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > dueAt) throw error;
        await sleep(lockRetryMs);
      }
    }
  }

  /** What fails here is undone without its neighbours; not so when the disk fails, which they share. */
  async #runApart(run: Run): Promise<Settled<never>[]> {
    this.#database.query('SAVEPOINT unit').run();
    try {
      const outcomes = await run.start(this.#transaction);
      this.#transaction.raiseVersions();
      this.#database.query('RELEASE unit').run();
      return outcomes.map((outcome) => ({ outcome: outcome as never }));
    } catch (error) {
      this.#transaction.forgetChanges();
      if (isPassing(error) || !this.#database.inTransaction) throw error;
      this.#database.query('ROLLBACK TO unit').run();
      this.#database.query('RELEASE unit').run();
      return run.calls.map(() => ({ error }));
    }
  }
}
