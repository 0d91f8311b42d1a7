import { SQL } from 'bun';
import { sslModeOf } from './encryption.ts';

/** A connection is waited for this many times as long as a statement. */
const connectTimeouts = 1.5;

export interface ConnectionSettings {
  readonly url: string;
  /** The server ends a statement after this long, in milliseconds. */
  readonly statementTimeoutMs: number;
}

type Tls = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** One session of PostgreSQL, and the statements that were sent on it. */
export class Connection {
  readonly sql: SQL;
  /** Statements sent and not answered; the server runs them one after the other. */
  active = 0;
  /** Nothing is sent behind what it runs: a write, a transaction. */
  exclusive = false;
  /** It takes no further statements, and is closed when its last one is answered. */
  retired = false;
  /** When the last answer came, or the first statement was sent since nothing was under way (monotonic, ms). */
  movedAt = 0;
  /** Runs longer than any time-out: a transaction. */
  untimed = false;
  #failure: Error | undefined;

  /** `onClose` is called when it is closed, also when it was never open. */
  constructor({ url, statementTimeoutMs }: ConnectionSettings, onClose: (connection: Connection) => void) {
    this.sql = new SQL({
      url,
      // Bun would believe PGDATABASE rather than the address.
      ...databaseOf(url),
      max: 1,
      // int8 as bigint: JavaScript's numbers would round it.
      bigint: true,
      connectionTimeout: (statementTimeoutMs / 1_000) * connectTimeouts,
      connection: {
        application_name: 'animal-store',
        statement_timeout: statementTimeoutMs,
        // A process that freezes within a transaction holds up the others no longer than this.
        idle_in_transaction_session_timeout: statementTimeoutMs,
      },
      tls: sslModeOf(url) as Tls,
      onclose: () => onClose(this),
    });
  }

  async open(): Promise<void> {
    await this.sql.connect();
  }

  /** What the failure of a statement on it is to be called. */
  failureOf(error: unknown): unknown {
    return this.#failure ?? error;
  }

  /** Ends it at once; what is under way is rejected, with `failure` if it is given. */
  close(failure?: Error): void {
    this.#failure = failure;
    void this.sql.close({ timeout: 0 }).catch(() => undefined);
  }
}

function databaseOf(url: string): { database?: string } {
  const { pathname, searchParams } = new URL(url);
  const database = searchParams.get('dbname') ?? decodeURIComponent(pathname.slice(1));
  return database === '' ? {} : { database };
}
