import type { SQL } from 'bun';
import { Breaker } from '../breaker.ts';
import type { Notice } from '../outage.ts';
import { StorageUnavailable, StorageUnusable, WriteUncertain } from '../storage.ts';
import { askForEncryption, describeEncryption } from './encryption.ts';
import { failureOf, isOvertaken, isReadOnly, reasonOf } from './failures.ts';
import { migrationSteps } from './migration-steps.ts';
import { migrate } from './migrations.ts';
import { Pool, type PoolFacts } from './pool.ts';
import type { Execute, Statement } from './statements.ts';
import { trialWrite } from './trial-write.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Most connections this process opens. */
  readonly poolSize: number;
  /** How long a statement may take from its arrival, in milliseconds; a silent server gets half as long again. */
  readonly statementTimeoutMs: number;
  readonly notice: Notice;
}

/** How often it is tried whether what does not work works again. */
const tryEveryMs = 500;
/** How often another connection is tried for after one was refused. */
const growEveryMs = 5_000;
const closeSeconds = 5;

/**
 * The database, and what is known of it: whether it can be reached, whether it gives as many connections as it
 * should, and whether it does what it is asked. Statements are templates, prepared once per connection.
 */
export class PostgresDatabase implements AsyncDisposable {
  readonly #options: PostgresOptions;
  readonly #pool: Pool;
  /** While it is tripped nothing is sent. */
  readonly #reaching: Breaker;
  /** While it is tripped the connections there are do what they can. */
  readonly #connecting: Breaker;
  /** While it is tripped everything is tried all the same: what is refused may be one table. */
  readonly #working: Breaker;
  #wasReadOnly = false;
  #isOpen = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    const { notice, poolSize: size } = options;
    this.#pool = new Pool({
      connection: options,
      size,
      onShortage: (error) => this.#connecting.trip(error),
      onUnreachable: (error) => {
        // Who cannot open the database at all says so, and is done.
        if (this.#isOpen) this.#reaching.trip(error);
      },
    });
    const breaker = (name: string, probeEveryMs: number, probe: () => Promise<void>) => {
      return new Breaker({ name, probe, probeEveryMs, notice });
    };
    this.#reaching = breaker('PostgreSQL', tryEveryMs, async () => {
      await this.#pool.read((sql) => sql`SELECT 1`);
    });
    this.#connecting = breaker('PostgreSQL connections', growEveryMs, () => this.#pool.fill());
    this.#working = breaker('PostgreSQL queries', tryEveryMs, () => this.#trialWrite());
  }

  /** How long a statement may take, in milliseconds. */
  get statementTimeoutMs(): number {
    return this.#options.statementTimeoutMs;
  }

  /** Runs a statement that changes nothing. Rejects with `StorageUnavailable` within the time-out. */
  read<T>(statement: Statement<T>): Promise<T> {
    return this.#run(
      () => this.#pool.read(statement),
      () => StorageUnavailable,
    );
  }

  /**
   * Runs one statement that writes. Unless it is done when it is due (`performance.now()`) it is stopped, and
   * `StorageUnavailable` says that nothing was done. Rejects with `WriteUncertain` when its outcome cannot be known.
   */
  write<T>(
    statement: Statement<T>,
    dueAt = performance.now() + this.#options.statementTimeoutMs,
  ): Promise<T> {
    const once = () => this.#pool.write(statement, dueAt);
    return this.#run(
      () => upToTwice(once),
      () => WriteUncertain,
    );
  }

  /**
   * Runs a transaction of several statements; unless its commit is sent when it is due (`performance.now()`), it is
   * rolled back. Rejects as `write` does, and with what `work` throws. `work` may be run twice.
   */
  transact<T>(work: (execute: Execute) => Promise<T>, dueAt: number): Promise<T> {
    let isCommitting = false;
    const once = () => {
      isCommitting = false;
      return this.#pool.transact(work, dueAt, () => {
        isCommitting = true;
      });
    };
    return this.#run(
      () => upToTwice(once),
      () => (isCommitting ? WriteUncertain : StorageUnavailable),
    );
  }

  /** Brings the database up to date; an empty one only if `create`. Throws `StorageUnusable`, also when it cannot be reached. */
  async migrate(create = true): Promise<void> {
    try {
      const former = await migrate((work) => this.transaction(work), create);
      if (former > 0) {
        this.#options.notice(`migrated the database from format ${former} to ${migrationSteps.length}`);
      }
      this.#isOpen = true;
    } catch (error) {
      if (error instanceof StorageUnusable) throw error;
      const { host, pathname } = new URL(this.#options.url);
      throw new StorageUnusable(
        `Cannot open the PostgreSQL database ${host}${pathname}: ${reasonOf(error)}.`,
        { cause: error },
      );
    }
  }

  /** Runs a transaction of several statements, for migrations; it has no time-out of ours. */
  transaction<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#pool.transaction(work);
  }

  get poolFacts(): PoolFacts {
    return this.#pool.facts;
  }

  /** How the connections are protected on their way, in words for operators. */
  encryption(): Promise<string> {
    return this.read(askForEncryption).then(([row]) => describeEncryption(this.#options.url, row?.version));
  }

  /** What does not work, as far as is known; undefined while all does. */
  get trouble(): string | undefined {
    return this.#reaching.trouble ?? this.#working.trouble ?? this.#connecting.trouble;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const breaker of [this.#reaching, this.#connecting, this.#working]) breaker[Symbol.dispose]();
    await this.#pool.close(this.#reaching.trouble === undefined ? closeSeconds : 0);
  }

  async #run<T>(run: () => Promise<T>, unanswered: () => typeof StorageUnavailable): Promise<T> {
    const { trouble } = this.#reaching;
    if (trouble !== undefined) throw new StorageUnavailable(trouble);
    try {
      return await run();
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'defect') throw error;
      if (failure === 'refused') this.#refused(error);
      const Kind = failure === 'unanswered' ? unanswered() : StorageUnavailable;
      throw new Kind(reasonOf(error), error);
    }
  }

  #refused(error: unknown): void {
    if (this.#working.trouble !== undefined) return;
    this.#wasReadOnly = isReadOnly(error);
    this.#working.trip(reasonOf(error));
  }

  /** A session that is read-only stays so, whatever becomes of its server: new ones are made. */
  async #trialWrite(): Promise<void> {
    if (this.#wasReadOnly) this.#pool.renew();
    await this.#pool.write(trialWrite).catch((error) => {
      this.#wasReadOnly = isReadOnly(error);
      throw error;
    });
  }
}

/** What the server gave up for another transaction (a deadlock), it has undone: it is tried again, once. */
async function upToTwice<T>(once: () => Promise<T>): Promise<T> {
  try {
    return await once();
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    return once();
  }
}
