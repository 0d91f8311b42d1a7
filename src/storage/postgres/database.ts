import type { SQL } from 'bun';
import { CircuitBreaker } from '../../outages/circuit-breaker.ts';
import { StorageUnavailable, StoreUnusableError, WriteUncertainError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { type ConnectionSettings, standbyReason } from './connection.ts';
import { describeEncryption, describeEncryptionToPooler, queryEncryption } from './encryption.ts';
import {
  isMissingDatabase,
  isMissingRole,
  isReadOnly,
  isRefusal,
  isTransactionConflict,
  postgresReason,
  toFailure,
} from './failures.ts';
import { newestFormat } from './migration-steps.ts';
import { migrate } from './migrations.ts';
import { Pool, type PoolFacts } from './pool.ts';
import type { Execute, Statement } from './statements.ts';

export interface PostgresOptions extends ConnectionSettings {
  readonly poolSize: number;
  readonly notice: Notify;
}

const retryIntervalMs = 500;
/**
 * The trial write succeeds if only statements on other tables fail, such as for a missing permission. Longer than the
 * interval of the rarest statements, so that the outage does not end between them.
 */
const refusedQuietMs = 15_000;
/** Interval between connection attempts after the server refused a connection. */
const growEveryMs = 5_000;
const closeSeconds = 5;

/** A PostgreSQL database with outage detection. Each connection prepares a statement once. */
export class PostgresDatabase implements AsyncDisposable {
  readonly #options: PostgresOptions;
  readonly #pool: Pool;
  /** Tripped while the server is unreachable. No statements are sent. */
  readonly #reaching: CircuitBreaker;
  /** Tripped while the server refuses new connections. Existing connections remain in use. */
  readonly #connecting: CircuitBreaker;
  /**
   * Tripped while the server rejects statements. Statements are still sent, because the rejection may affect only one
   * table.
   */
  readonly #working: CircuitBreaker;
  #wasReadOnly = false;
  #succeededAt = performance.now();
  #isOpen = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    const { notice, poolSize: size } = options;
    this.#pool = new Pool({
      connection: options,
      size,
      onShortage: (error) => this.#connecting.trip(error),
      onUnreachable: (error) => {
        // During startup, `migrate` reports the failure.
        if (this.#isOpen) this.#reaching.trip(error);
      },
    });
    const common = { probeEveryMs: retryIntervalMs, notice };
    this.#reaching = new CircuitBreaker({
      ...common,
      name: 'PostgreSQL',
      probe: () => this.#expectPrimary(),
      failsRequests: true,
    });
    this.#connecting = new CircuitBreaker({
      name: 'PostgreSQL connections',
      probe: () => this.#pool.connections.fill(),
      probeEveryMs: growEveryMs,
      notice,
    });
    this.#working = new CircuitBreaker({
      ...common,
      name: 'PostgreSQL queries',
      probe: () => this.#trialWrite(),
      quietMs: refusedQuietMs,
      failsRequests: isRefusal,
    });
  }

  /** Begins an outage that ends when the address points to a primary. Throws `StorageUnavailable`. */
  refuseStandby(): never {
    this.#reaching.trip(new Error(standbyReason));
    throw new StorageUnavailable(standbyReason);
  }

  get statementTimeoutMs(): number {
    return this.#options.statementTimeoutMs;
  }

  /** Runs a read-only statement. Rejects with `StorageUnavailable` at `dueAt` (`performance.now()`). */
  read<T>(statement: Statement<T>, dueAt?: number): Promise<T> {
    return this.#run(
      () => this.#pool.read(statement, dueAt),
      () => StorageUnavailable,
    );
  }

  /**
   * Runs a write, and cancels it if it is still running at `dueAt`. Rejects with `StorageUnavailable` if nothing was
   * changed, or with `WriteUncertainError` if the outcome is unknown.
   */
  write<T>(
    statement: Statement<T>,
    dueAt = performance.now() + this.#options.statementTimeoutMs,
  ): Promise<T> {
    return this.#change((onCommit) => this.#pool.write(statement, dueAt, onCommit));
  }

  /**
   * Runs a transaction, and rolls it back at `dueAt` unless the commit was already sent. May run `work` twice. Rejects
   * like `write`, or with the error that `work` threw.
   */
  transact<T>(work: (execute: Execute) => Promise<T>, dueAt: number): Promise<T> {
    return this.#change((onCommit) => this.#pool.transact(work, dueAt, onCommit));
  }

  /**
   * Migrates the database, unless `migrates` is false. Sets up an empty database only if `create` is true. Throws
   * `StoreUnusableError`, including when the database cannot be reached.
   */
  async migrate(create = true, migrates = true): Promise<void> {
    try {
      const { notice } = this.#options;
      const former = await migrate({
        begin: (work) => this.#pool.transaction(work),
        session: (work) => this.#pool.session(work),
        ...{ create, migrates, notice },
      });
      if (former > 0) {
        notice(`migrated the database from format ${former} to ${newestFormat}`);
      }
      this.#isOpen = true;
    } catch (error) {
      if (error instanceof StoreUnusableError) throw error;
      const { host, pathname } = new URL(this.#options.url);
      throw new StoreUnusableError(
        `Cannot open the PostgreSQL database ${host}${pathname}: ${postgresReason(error)}.${remedyOf(error, this.#options.url)}`,
        { cause: error },
      );
    }
  }

  get poolFacts(): PoolFacts {
    return this.#pool.facts;
  }

  async encryption(): Promise<string> {
    const { url } = this.#options;
    const [row] = await this.read(queryEncryption);
    if (this.#pool.connections.throughPooler) return describeEncryptionToPooler(url);
    return describeEncryption(url, row?.version);
  }

  /** Whether statements are sent. The server may still reject changes or new connections: see `trouble`. */
  get isReachable(): boolean {
    return this.#reaching.trouble === undefined;
  }

  /** Time since a statement last succeeded. */
  get silentMs(): number {
    return performance.now() - this.#succeededAt;
  }

  /** Reason for the current outage; undefined if there is no outage. */
  get trouble(): string | undefined {
    return this.#reaching.trouble ?? this.#working.trouble ?? this.#connecting.trouble;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const breaker of [this.#reaching, this.#connecting, this.#working]) breaker[Symbol.dispose]();
    await this.#pool.close(this.#reaching.trouble === undefined ? closeSeconds : 0);
  }

  /** Applies a change. If the server does not reply after `onCommit` was called, the outcome of the change is unknown. */
  #change<T>(change: (onCommit: () => void) => Promise<T>): Promise<T> {
    let isCommitting = false;
    const onCommit = () => {
      isCommitting = true;
    };
    const once = () => {
      isCommitting = false;
      return change(onCommit);
    };
    return this.#run(
      () => upToTwice(once),
      () => (isCommitting ? WriteUncertainError : StorageUnavailable),
    );
  }

  async #run<T>(run: () => Promise<T>, unanswered: () => typeof StorageUnavailable): Promise<T> {
    const { trouble } = this.#reaching;
    if (trouble !== undefined) throw new StorageUnavailable(trouble);
    try {
      const result = await run();
      this.#succeededAt = performance.now();
      return result;
    } catch (error) {
      const failure = toFailure(error);
      if (failure === 'defect') throw error;
      if (failure === 'refused') this.#refused(error);
      const Kind = failure === 'unanswered' ? unanswered() : StorageUnavailable;
      throw new Kind(postgresReason(error), error);
    }
  }

  #refused(error: unknown): void {
    const isReadOnlySession = isReadOnly(error);
    if (isReadOnlySession) this.#wasReadOnly = true;
    this.#working.trip(postgresReason(error), isReadOnlySession);
  }

  async #expectPrimary(): Promise<void> {
    const [row] = await this.#pool.read(
      (sql): SQL.Query<{ isStandby: boolean }[]> => sql`SELECT pg_is_in_recovery() AS "isStandby"`,
    );
    if (row?.isStandby !== true) return;
    // The address may point to the primary by now, but the session is still connected to the standby.
    this.#pool.connections.renew();
    throw new Error(standbyReason);
  }

  /** Replaces read-only sessions, because they remain read-only even after the server becomes writable. */
  async #trialWrite(): Promise<void> {
    if (this.#wasReadOnly) this.#pool.connections.renew();
    this.#wasReadOnly = false;
    await this.#pool.write(trialWrite).catch((error) => {
      this.#wasReadOnly = isReadOnly(error);
      throw error;
    });
  }
}

/** Retries once if the server aborted the transaction, for example to resolve a deadlock. */
async function upToTwice<T>(once: () => Promise<T>): Promise<T> {
  try {
    return await once();
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    return once();
  }
}

/** A trial write adds as many rows as the largest group of writes, so that a full disk is detected. */
const trialRows = 1_000;

/** Performs typical writes and rolls them back. The exception handler keeps the error out of the server's log. */
function trialWrite(sql: SQL): SQL.Query<unknown> {
  return sql.unsafe(`
    DO $$
    BEGIN
      PERFORM 1 FROM keys JOIN accounts ON accounts.id = account_id LIMIT 1;
      PERFORM 1 FROM usage_snapshots LIMIT 1;
      PERFORM 1 FROM ban_snapshots LIMIT 1;
      PERFORM 1 FROM pets LIMIT 1;
      UPDATE counters SET last = last + ${trialRows} WHERE name = 'pets';
      INSERT INTO pets (id, name, category_id, status)
        SELECT last - number, 'rehearsal', 0, 'available'
        FROM counters, generate_series(0, ${trialRows - 1}) AS number WHERE counters.name = 'pets';
      RAISE EXCEPTION USING ERRCODE = 'AS000';
    EXCEPTION WHEN SQLSTATE 'AS000' THEN NULL;
    END $$`);
}

/**
 * Returns a space and a sentence with the command that creates the missing role or database, or an empty string for
 * other errors.
 */
function remedyOf(error: unknown, url: string): string {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  const server = `-h ${hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'} -p ${port || '5432'}`;
  const user = decodeURIComponent(username);
  if (isMissingRole(error)) {
    return ` To create the role, run as an administrator of the server: createuser ${server} -U postgres --pwprompt ${quoted(user)}`;
  }
  if (!isMissingDatabase(error)) return '';
  const database = searchParams.get('dbname') ?? decodeURIComponent(pathname.slice(1));
  const owner = user === '' ? '' : ` -O ${quoted(user)}`;
  return ` To create it, run as an administrator of the server: createdb ${server} -U postgres${owner} ${quoted(database || user)}`;
}

function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
