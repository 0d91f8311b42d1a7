import { SQL } from 'bun';
import { readSslMode } from './encryption.ts';
import { NoReplyError } from './failures.ts';
import type { Session } from './index-builds.ts';
import {
  BehindPooler,
  checkSchema,
  expectSession,
  isPoolerRefusal,
  readSessionSettings,
  sessionMarker,
  urlForPooler,
} from './pooler.ts';

const connectTimeouts = 1.5;

export interface ConnectionSettings {
  readonly url: string;
  /**
   * Statement timeout in milliseconds, including time in the queue. A connection is closed if there is no reply for 1.5
   * times this period.
   */
  readonly statementTimeoutMs: number;
  /**
   * Whether connections to a standby are refused, because it lacks the latest changes. Commands may read one, for example
   * to export its data.
   */
  readonly refusesStandby?: boolean;
}

/** A standby lacks the latest changes, such as the revocation of a key. */
export const standbyReason = 'the server is a standby (in recovery): DATABASE_URL must point to the primary';

type Tls = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

interface ConnectionOptions {
  /** True for a connection through a pooler: statements are not prepared, and are sent one at a time. */
  readonly throughPooler: boolean;
  /** Called when the connection closes or cannot be opened. */
  readonly onClose: (connection: Connection) => void;
}

export class Connection {
  readonly sql: SQL;
  readonly throughPooler: boolean;
  /** True if the session has the parameters and the isolation level. Otherwise, each transaction sets them. */
  hasSettings = true;
  /** Number of pending statements, which the server runs one after the other. */
  active = 0;
  /** True while a write or a transaction is running. No other statement is sent during this time. */
  exclusive = false;
  /** True if the connection accepts no new statements, and closes once its pending statements are done. */
  retired = false;
  /** Time of the last reply, or of the first statement after an idle period (monotonic, ms). */
  movedAt = 0;
  untimed = false;
  readonly #settings: ConnectionSettings;
  #failure: Error | undefined;

  constructor(settings: ConnectionSettings, { throughPooler, onClose }: ConnectionOptions) {
    const { url, statementTimeoutMs } = settings;
    this.#settings = settings;
    this.throughPooler = throughPooler;
    this.sql = new SQL({
      url: throughPooler ? urlForPooler(url) : url,
      // Bun gives PGDATABASE precedence over the URL.
      ...databaseOf(url),
      max: 1,
      prepare: !throughPooler,
      // Returns int8 as bigint, because JavaScript numbers would round it.
      bigint: true,
      connectionTimeout: this.#openTimeoutMs / 1_000,
      connection: {
        application_name: 'animal-store',
        ...(!throughPooler && { ...parameters(statementTimeoutMs), ...isolation, ...sessionMarker }),
      },
      tls: readSslMode(url) as Tls,
      onclose: () => onClose(this),
    });
  }

  /** Rejects with `BehindPooler` if it detects a pooler, because a pooler needs different connection options. */
  async open(): Promise<void> {
    const timeoutMs = this.#openTimeoutMs;
    const late = () => this.close(new NoReplyError(`no response within ${timeoutMs} ms`));
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.sql.connect();
      timer = setTimeout(late, timeoutMs);
      if (this.throughPooler) await this.#checkSessions();
      else await expectSession(this.sql);
      if (this.#settings.refusesStandby) await expectPrimary(this.sql);
    } catch (error) {
      throw isPoolerRefusal(error) && !this.throughPooler ? new BehindPooler() : this.failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs a transaction with the parameters of the service, in which each statement sees the latest committed data. */
  begin<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    if (this.hasSettings) return this.sql.begin(work);
    const settings = Object.entries(parameters(this.#settings.statementTimeoutMs));
    const parameterTexts = settings.map(([name, value]) => `SET LOCAL ${name} = ${value}`);
    const text = [`SET TRANSACTION ISOLATION LEVEL ${readCommitted}`, ...parameterTexts].join(';');
    return this.sql.begin(async (sql) => {
      await sql.unsafe(text).simple();
      return work(sql);
    });
  }

  /** Runs statements outside a transaction and without timeouts. */
  async untimedSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = { sql: this.sql, throughPooler: this.throughPooler };
    // Through a pooler, a setting would affect other clients.
    if (this.throughPooler) return work(session);
    await this.sql.unsafe('SET statement_timeout = 0; SET lock_timeout = 0').simple();
    try {
      return await work(session);
    } finally {
      await this.sql.unsafe('RESET statement_timeout; RESET lock_timeout').simple();
    }
  }

  /**
   * Cancels the running statement, and retires the connection. The cancel request is sent over a separate connection, so
   * it may arrive late and cancel a later statement.
   */
  cancel(query: SQL.Query<unknown>): void {
    this.retired = true;
    query.cancel();
  }

  /** Returns the reason why the connection was closed, or the statement's error if the connection is open. */
  failureOf(error: unknown): unknown {
    return this.#failure ?? error;
  }

  /** Closes the connection immediately. Pending statements reject with `failure` if it is set. */
  close(failure?: Error): void {
    this.#failure = failure;
    void this.sql.close({ timeout: 0 }).catch(() => undefined);
  }

  async #checkSessions(): Promise<void> {
    const { url, statementTimeoutMs } = this.#settings;
    const found = await readSessionSettings(this.sql);
    checkSchema(found, url);
    const wanted = Object.entries({ ...parameters(statementTimeoutMs), ...isolation });
    this.hasSettings = wanted.every(([name, value]) => found.get(name) === String(value));
  }

  get #openTimeoutMs(): number {
    return this.#settings.statementTimeoutMs * connectTimeouts;
  }
}

/**
 * Throws if the server is a standby. The address may briefly point to a standby, and a session never changes its
 * server, except through a pooler.
 */
async function expectPrimary(sql: SQL): Promise<void> {
  const [row] = await sql.unsafe('SELECT pg_is_in_recovery() AS "isStandby"').simple();
  if (row?.isStandby === true) throw new Error(standbyReason);
}

const parameters = (statementTimeoutMs: number) => ({
  statement_timeout: statementTimeoutMs,
  // Limits how long a process that hangs within a transaction can block other processes.
  idle_in_transaction_session_timeout: statementTimeoutMs,
  // JIT compilation takes longer than running the statements. PostgreSQL would use it for the query for ready webhooks,
  // whose cost it overestimates.
  jit: 'off',
});

const readCommitted = 'read committed';

/**
 * The database or the role may have another default. At other levels, a statement would not see data that was committed
 * while its transaction waited for a lock, and changes would fail.
 */
const isolation = { default_transaction_isolation: readCommitted } as const;

function databaseOf(url: string): { database?: string } {
  const { pathname, searchParams } = new URL(url);
  const database = searchParams.get('dbname') ?? decodeURIComponent(pathname.slice(1));
  return database === '' ? {} : { database };
}
