import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import type { Units, Writer } from '../transaction.ts';
import { type Call, type Run, runsOf } from '../unit-of-work.ts';
import {
  commitFailure,
  isBusy,
  isPassing,
  type Migrations,
  openDatabase,
  writingCacheKib,
} from './database.ts';
import { FormatWatch } from './format-watch.ts';
import { SqliteTransaction } from './transaction.ts';

const lockRetryMs = 2;

interface SqliteWriterOptions {
  readonly path: string;
  readonly migrations: Migrations;
  readonly units: Units;
  /** Whether changes are recorded as events; defaults to true. */
  readonly events?: boolean | undefined;
  /** How long a write waits for its commit, in milliseconds. */
  readonly timeoutMs: number;
}

/** Runs units of work. Those that arrive together share a transaction, and so one sync of the disk. */
export class SqliteWriter implements Writer<Units>, AsyncDisposable {
  readonly #database: Database;
  readonly #watch: FormatWatch;
  readonly #units: Units;
  readonly #transaction: SqliteTransaction;
  readonly #queue: GroupQueue<Call, never>;

  /** Opens the connection that writes. Throws `StorageUnusable`. */
  constructor({ path, migrations, units, events, timeoutMs }: SqliteWriterOptions) {
    this.#database = openDatabase({
      path,
      migrations,
      create: false,
      cacheKib: writingCacheKib,
      // `#begin` waits.
      busyTimeoutMs: 0,
      lock: () => undefined,
    });
    // Savepoints copy pages before a change; above 64 KiB, SQLite would write them to a file.
    this.#database.run('PRAGMA temp_store = MEMORY');
    // The process that reads the file notifies operators of another format.
    this.#watch = new FormatWatch(this.#database, () => undefined);
    this.#units = units;
    this.#transaction = new SqliteTransaction(this.#database, events);
    this.#queue = new GroupQueue(timeoutMs, (calls, dueAt) => this.#commit(calls, dueAt));
  }

  write(name: string, input: unknown): Promise<never> {
    return this.#queue.add({ name, input });
  }

  get facts(): QueueFacts {
    return this.#queue.facts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.idle();
    this.#database.close();
  }

  async #commit(calls: readonly Call[], dueAt: number): Promise<Settled<never>[]> {
    try {
      await this.#begin(dueAt);
      this.#watch.verify();
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

  /** Acquires the lock. Does not wait within SQLite, which would block the thread. */
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

  /** Without a savepoint, for which SQLite copies each page before a change: there are no other units to preserve. */
  #runAlone(run: Run): Promise<Settled<never>[]> {
    return this.#settle(run, () => this.#execute('ROLLBACK'));
  }

  /** In a savepoint, so that a failure is undone without the other units. */
  async #runApart(run: Run): Promise<Settled<never>[]> {
    this.#execute('SAVEPOINT unit');
    const settled = await this.#settle(run, () => this.#execute('ROLLBACK TO unit'));
    this.#execute('RELEASE unit');
    return settled;
  }

  /** Runs it, and undoes it if it fails. A failure of the disk concerns the whole group, and is thrown. */
  async #settle(run: Run, undo: () => void): Promise<Settled<never>[]> {
    try {
      const outcomes = await run.start(this.#transaction.tables);
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
