import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataDamagedError, StorageUnavailable, WriteUncertainError } from '../../outages/errors.ts';
import { findDataLoss, findStoreLoss, type StoreIdentity } from '../../store-files/file-identity.ts';
import { GroupQueue, type QueueFacts, type Settled } from '../group-queue.ts';
import type { Units, Writer } from '../transaction.ts';
import { groupIntoRuns, type Run, type UnitCall } from '../unit-of-work.ts';
import {
  isBusy,
  isDamage,
  isTemporary,
  type Migrations,
  openDatabase,
  toCommitError,
  toStorageError,
  writingCacheKib,
} from './database.ts';
import { FormatWatch } from './format-watch.ts';
import { SqliteTransaction } from './transaction.ts';

const lockRetryMs = 2;
const trialWrite = "UPDATE versions SET version = version + 1 WHERE resource = 'pets'";

interface SqliteWriterOptions {
  readonly path: string;
  readonly identity: StoreIdentity;
  readonly migrations: Migrations;
  readonly units: Units;
  /** Whether to record changes as events; defaults to true. */
  readonly events?: boolean | undefined;
  /** Time limit for a write to be committed, in milliseconds. */
  readonly timeoutMs: number;
}

/** Runs units of work. Units that arrive at about the same time share a transaction, and thus a single disk sync. */
export class SqliteWriter implements Writer<Units>, AsyncDisposable {
  readonly #database: Database;
  readonly #path: string;
  readonly #watch: FormatWatch;
  readonly #units: Units;
  readonly #transaction: SqliteTransaction;
  readonly #queue: GroupQueue<UnitCall, never>;
  readonly #changed;
  readonly #identity: StoreIdentity;
  /** Also true before the first check, because the store may have been opened long before this writer. */
  #isLost = true;
  /** Whether the last group could not be committed, for another reason than damage. */
  #isFailing = false;

  /** Opens the writing connection. Throws `StoreUnusableError`. */
  constructor({ path, identity, migrations, units, events, timeoutMs }: SqliteWriterOptions) {
    this.#identity = identity;
    this.#path = path;
    this.#database = openDatabase({
      path,
      migrations,
      create: false,
      migrates: false,
      cacheKib: writingCacheKib,
      // SQLite must not wait for locks, because `#begin` waits without blocking the thread.
      busyTimeoutMs: 0,
      lock: () => undefined,
    });
    // Savepoints copy pages before a change. By default, SQLite writes the copies to a file if they exceed 64 KiB.
    this.#database.run('PRAGMA temp_store = MEMORY');
    // Sends no notices, because the reading process reports a changed format to operators.
    this.#watch = new FormatWatch(this.#database, () => undefined);
    this.#units = units;
    this.#transaction = new SqliteTransaction(this.#database, events);
    this.#changed = this.#database.query<{ rows: bigint }, []>('SELECT total_changes() AS rows');
    this.#queue = new GroupQueue(timeoutMs, (calls, dueAt) => this.#commit(calls, dueAt));
  }

  write(name: string, input: unknown): Promise<never> {
    return this.#queue.add({ name, input });
  }

  get facts(): QueueFacts {
    return this.#queue.facts;
  }

  /** Reason why no change can be durable, because a file of the store was lost; undefined if it can. */
  get loss(): string | undefined {
    const loss = findStoreLoss(this.#identity);
    this.#isLost = loss !== undefined;
    return loss;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.idle();
    this.#database.close();
  }

  /**
   * Commits the units in one transaction. If one of them finds damage, divides them until those that need the damaged
   * part are separate, because SQLite then rejects all further changes of the transaction.
   */
  async #commit(calls: readonly UnitCall[], dueAt: number): Promise<(Settled<never> | undefined)[]> {
    try {
      return await this.#commitTogether(calls, dueAt);
    } catch (error) {
      if (!(error instanceof DataDamagedError) || calls.length === 1) throw error;
    }
    const middle = calls.length >> 1;
    const settled: (Settled<never> | undefined)[] = [];
    for (const half of [calls.slice(0, middle), calls.slice(middle)]) {
      const isLate = performance.now() > dueAt;
      const its = isLate ? half.map(() => undefined) : await this.#commitHalf(half, dueAt);
      settled.push(...its);
    }
    return settled;
  }

  /** Settles an error of the half, because the other half may have been committed. */
  #commitHalf(calls: readonly UnitCall[], dueAt: number): Promise<(Settled<never> | undefined)[]> {
    return this.#commit(calls, dueAt).catch((error) => calls.map(() => ({ error })));
  }

  async #commitTogether(calls: readonly UnitCall[], dueAt: number): Promise<Settled<never>[]> {
    try {
      this.#expectFiles();
      await this.#begin(dueAt);
      this.#watch.verify();
      const runs = groupIntoRuns(this.#units, calls);
      const settled = (await this.#runTogether(runs)) ?? (await this.#runSeparately(runs, dueAt));
      this.#transaction.finishGroup();
      // A group without changes commits even on a full disk, which would end the outage. The trial write raises a version,
      // because SQLite skips a write that changes nothing.
      if (this.#isFailing) this.#execute(trialWrite);
      // Checked before the commit as well, because a commit extends a truncated file to its former size.
      this.#expectDurable(StorageUnavailable);
      this.#execute('COMMIT');
      this.#expectDurable(WriteUncertainError);
      this.#isFailing = false;
      return settled;
    } catch (error) {
      if (!isDamage(error)) this.#isFailing = true;
      this.#transaction.forgetGroup();
      if (this.#database.inTransaction) this.#execute('ROLLBACK');
      throw toCommitError(error, this.#path);
    }
  }

  /** Throws the error if the changes could be lost. */
  #expectDurable(LossError: new (reason: string) => StorageUnavailable): void {
    const loss = findDataLoss(this.#identity);
    if (loss === undefined) return;
    this.#isLost = true;
    throw new LossError(loss);
  }

  /** Throws `StorageUnavailable` while a file is lost. A loss is detected by the checks of each commit that does not fail. */
  #expectFiles(): void {
    if (!this.#isLost && !this.#isFailing) return;
    const { loss } = this;
    if (loss !== undefined) throw new StorageUnavailable(loss);
  }

  /** Acquires the write lock. Does not wait in SQLite, which would block the thread. */
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

  /**
   * Runs units without savepoints, because savepoints copy each page before it is changed. If a unit fails after
   * changing rows, rolls back all units and returns undefined.
   */
  async #runTogether(runs: readonly Run[]): Promise<Settled<never>[] | undefined> {
    const settled: Settled<never>[] = [];
    for (const run of runs) {
      const before = this.#rowsChanged();
      const its = await this.#settle(run);
      if ('error' in its && this.#rowsChanged() !== before) {
        this.#transaction.forgetGroup();
        this.#execute('ROLLBACK');
        return undefined;
      }
      settled.push(...settleCalls(run, its));
    }
    return settled;
  }

  /** Runs each unit in a savepoint, so that the failure of one does not undo the others. */
  async #runSeparately(runs: readonly Run[], dueAt: number): Promise<Settled<never>[]> {
    await this.#begin(dueAt);
    this.#watch.verify();
    const settled: Settled<never>[] = [];
    for (const run of runs) {
      this.#execute('SAVEPOINT unit');
      const its = await this.#settle(run);
      if ('error' in its) this.#execute('ROLLBACK TO unit');
      this.#execute('RELEASE unit');
      settled.push(...settleCalls(run, its));
    }
    return settled;
  }

  /** Runs a unit. Throws disk failures and damage, because they affect the whole transaction. */
  async #settle(run: Run): Promise<SettledRun> {
    try {
      const outcomes = await run.start(this.#transaction.tables);
      this.#transaction.keepUnit(run.writes);
      return { outcomes };
    } catch (error) {
      this.#transaction.forgetUnit();
      if (isTemporary(error) || isDamage(error) || !this.#database.inTransaction) throw error;
      return { error: toStorageError(error, this.#path) };
    }
  }

  /** Number of rows that the connection has changed so far, including changes that were rolled back. */
  #rowsChanged(): bigint | undefined {
    // Uses `all`, because `get` would leave the statement open.
    return this.#changed.all()[0]?.rows;
  }

  #execute(statement: string): void {
    this.#database.query(statement).run();
  }
}

type SettledRun = { readonly outcomes: readonly unknown[] } | { readonly error: unknown };

function settleCalls({ calls }: Run, its: SettledRun): Settled<never>[] {
  if ('error' in its) return calls.map(() => its);
  return its.outcomes.map((outcome) => ({ outcome: outcome as never }));
}
