import { SQL } from 'bun';
import { sslModeOf } from './encryption.ts';

const connectTimeouts = 1.5;

export interface ConnectionSettings {
  readonly url: string;
  /** The server ends a statement after this long, in milliseconds. */
  readonly statementTimeoutMs: number;
}

type Tls = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

export class Connection {
  readonly sql: SQL;
  /** Pending statements, which the server runs one after the other. */
  active = 0;
  /** No other statement is sent until its current one, a write or transaction, has ended. */
  exclusive = false;
  /** It takes no further statements, and is closed after its last one. */
  retired = false;
  /** When the last reply arrived, or the first statement was sent after it was idle (monotonic, ms). */
  movedAt = 0;
  untimed = false;
  #failure: Error | undefined;

  /** `onClose` is called when it is closed, even if it was never open. */
  constructor({ url, statementTimeoutMs }: ConnectionSettings, onClose: (connection: Connection) => void) {
    this.sql = new SQL({
      url,
      // Bun prefers PGDATABASE to the URL.
      ...databaseOf(url),
      max: 1,
      // int8 as bigint: JavaScript's numbers would round it.
      bigint: true,
      connectionTimeout: (statementTimeoutMs / 1_000) * connectTimeouts,
      connection: {
        application_name: 'animal-store',
        statement_timeout: statementTimeoutMs,
        // A process that freezes within a transaction blocks others no longer than this.
        idle_in_transaction_session_timeout: statementTimeoutMs,
      },
      tls: sslModeOf(url) as Tls,
      onclose: () => onClose(this),
    });
  }

  async open(): Promise<void> {
    await this.sql.connect();
  }

  /** The error of a statement: why the connection was closed, if it was. */
  failureOf(error: unknown): unknown {
    return this.#failure ?? error;
  }

  /** Closes it at once. Pending statements are rejected, with `failure` if given. */
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
