import { SQL } from 'bun';
import { Breaker } from '../breaker.ts';
import type { Notice } from '../outage.ts';
import { Overdue } from '../overdue.ts';
import { StorageUnavailable, StorageUnusable, WriteUncertain } from '../storage.ts';
import { migrate } from './migrations.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Most connections this process opens. */
  readonly poolSize: number;
  /** How long a statement may take; answers and connections are waited for half as long again. */
  readonly statementTimeoutMs: number;
  readonly notice: Notice;
}

/** Room for the server to cancel a statement itself and say so, before it counts as frozen. */
const answerTimeouts = 1.5;
const idleSeconds = 300;
const probeEveryMs = 500;
const closeSeconds = 5;

/**
 * A bounded pool of connections that is replaced when the server stops answering. Statements are templates,
 * prepared once per connection.
 */
export class PostgresDatabase implements AsyncDisposable {
  readonly #options: PostgresOptions;
  readonly #overdue: Overdue;
  readonly #breaker: Breaker;
  #pool: SQL;

  constructor(options: PostgresOptions) {
    this.#options = options;
    const { notice, statementTimeoutMs } = options;
    this.#pool = this.#open();
    this.#overdue = new Overdue(
      statementTimeoutMs * answerTimeouts,
      () => new NoAnswer(`no answer within ${statementTimeoutMs * answerTimeouts} ms`),
      () => this.#replace(),
    );
    const probe = () => this.#ask((sql) => sql`SELECT 1`).then(() => undefined);
    this.#breaker = new Breaker({ name: 'PostgreSQL', probe, probeEveryMs, notice });
  }

  /** Runs a statement that changes nothing. Rejects with `StorageUnavailable` within the time-out. */
  read<T>(query: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#run(query, StorageUnavailable);
  }

  /** Runs one statement that writes. Rejects with `WriteUncertain` when its outcome cannot be known. */
  write<T>(query: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#run(query, WriteUncertain);
  }

  /** Brings the database up to date. Throws `StorageUnusable`, also when it cannot be reached. */
  async migrate(): Promise<void> {
    try {
      await this.#overdue.within(migrate(this.#pool));
    } catch (error) {
      if (error instanceof StorageUnusable) throw error;
      const reason = (error as Error).message;
      const { host, pathname } = new URL(this.#options.url);
      throw new StorageUnusable(`Cannot open the PostgreSQL database ${host}${pathname}: ${reason}.`, {
        cause: error,
      });
    }
  }

  /** Runs a transaction of several statements, for migrations and copies; it has no time-out of ours. */
  transaction<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#pool.begin(work);
  }

  /** Why it does not work; undefined when it does. Asks the server. */
  async trouble(): Promise<string | undefined> {
    if (this.#breaker.trouble === undefined) await this.read((sql) => sql`SELECT 1`).catch(() => undefined);
    return this.#breaker.trouble;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#breaker[Symbol.dispose]();
    await this.#pool.close({ timeout: this.#breaker.trouble === undefined ? closeSeconds : 0 });
  }

  async #run<T>(query: (sql: SQL) => Promise<T>, Unanswered: typeof StorageUnavailable): Promise<T> {
    const { trouble } = this.#breaker;
    if (trouble !== undefined) throw new StorageUnavailable(trouble);
    try {
      return await this.#ask(query);
    } catch (error) {
      const kind = kindOf(error);
      if (kind === 'mistake') throw error;
      if (kind !== 'refused') this.#breaker.trip(error);
      const { message } = error as Error;
      throw kind === 'unanswered' ? new Unanswered(message, error) : new StorageUnavailable(message, error);
    }
  }

  #ask<T>(query: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#overdue.within(query(this.#pool));
  }

  #open(): SQL {
    const { url, poolSize, statementTimeoutMs } = this.#options;
    return new SQL(url, {
      max: poolSize,
      // int8 as bigint: JavaScript's numbers would round it.
      bigint: true,
      connectionTimeout: (statementTimeoutMs / 1_000) * answerTimeouts,
      idleTimeout: idleSeconds,
      connection: { application_name: 'animal-store', statement_timeout: statementTimeoutMs },
    });
  }

  /** Connections to a server that froze never answer again, even when it thaws: their questions are given up. */
  #replace(): void {
    const frozen = this.#pool;
    this.#pool = this.#open();
    void frozen.close({ timeout: 0 }).catch(() => undefined);
  }
}

class NoAnswer extends Error {}

/** SQLSTATE classes and codes of a server that declines for now: nothing was done. */
const declined = /^(53|57014|55P03|25006|40001|40P01)/;
/** The server is going or gone (class 08: connection, 57P: operator's intervention). */
const going = /^(08|57P)/;

/**
 * What an error means: `refused` the server declined or cancelled it; `unreachable` it never got there;
 * `unanswered` it did, perhaps; `mistake` anything else, which is ours.
 */
function kindOf(error: unknown): 'refused' | 'unreachable' | 'unanswered' | 'mistake' {
  if (error instanceof NoAnswer) return 'unanswered';
  if (!(error instanceof SQL.PostgresError)) return 'mistake';
  const state = String(error.errno ?? '');
  if (error.code === 'ERR_POSTGRES_SERVER_ERROR') {
    if (declined.test(state)) return 'refused';
    return going.test(state) ? 'unanswered' : 'mistake';
  }
  if (!/CONNECTION|TIMEOUT/.test(error.code)) return 'mistake';
  return /CONNECTION_(REFUSED|TIMEOUT|FAILED)/.test(error.code) ? 'unreachable' : 'unanswered';
}
