import type { SQL } from 'bun';
import { afterUnreadAnswers, DeadlineQueue, type Pending } from '../deadline-queue.ts';
import { RoundTrips } from '../round-trips.ts';
import type { Connection } from './connection.ts';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { TooLate } from './failures.ts';
import type { Execute, Statement } from './statements.ts';
import { TimedTransaction } from './timed-transaction.ts';

interface Job extends Pending {
  readonly exclusive: boolean;
  readonly start: (connection: Connection) => void;
}

/** A running statement. `stop` is called when it is due. One that only reads, or has no `stop`, is then rejected. */
interface Sent<T> {
  readonly answer: PromiseLike<T>;
  readonly stop?: () => void;
}

export interface PoolFacts {
  readonly connections: number;
  readonly busy: number;
  readonly waiting: number;
  /** Statements and transactions, measured from when they were sent. */
  readonly roundTrips: RoundTrips;
}

/** Most statements waiting for a connection; further ones are refused at once. */
const longestQueue = 10_000;
const looksPerTimeout = 20;

/**
 * Runs statements on a bounded number of connections. The time-out of a statement begins with its arrival here. Whether
 * the server is frozen is decided by the replies on each connection, never by how long statements wait for each other:
 * the server itself cancels each after `statement_timeout`.
 */
export class Pool {
  readonly #timeoutMs: number;
  readonly connections: Connections;
  readonly #waiting = new DeadlineQueue<Job>({
    most: longestQueue,
    overload: (size) => new TooLate(`too many queued statements (${size})`),
  });
  readonly #sent = new DeadlineQueue();
  readonly #timer: NodeJS.Timeout;
  #closed = false;
  readonly #roundTrips = new RoundTrips();

  constructor(options: Omit<ConnectionsOptions, 'onChange'>) {
    this.#timeoutMs = options.connection.statementTimeoutMs;
    this.connections = new Connections({
      ...options,
      onChange: () => this.#next(),
      onUnreachable: (error) => {
        this.#waiting.expire(error);
        options.onUnreachable(error);
      },
    });
    this.#timer = setInterval(() => this.#look(), this.#timeoutMs / looksPerTimeout).unref();
  }

  /** Runs a statement that may be pipelined. Rejects with `TooLate` after the time-out. */
  read<T>(statement: Statement<T>): Promise<T> {
    return this.#add(false, this.#dueAt(), (connection) => {
      if (!connection.hasTimeouts) return transaction(connection, (execute) => execute(statement));
      return { answer: statement(connection.sql) };
    });
  }

  /**
   * Runs a statement on an exclusive connection, so that it can be cancelled at `dueAt` (`performance.now()`). `onCommit` is
   * called before anything is sent that may be committed.
   */
  write<T>(statement: Statement<T>, dueAt = this.#dueAt(), onCommit = () => {}): Promise<T> {
    return this.#add(true, dueAt, (connection) => {
      if (!connection.hasTimeouts) return transaction(connection, (execute) => execute(statement), onCommit);
      onCommit();
      const answer = statement(connection.sql);
      return { answer, stop: () => void answer.cancel() };
    });
  }

  /** Rolled back at `dueAt` unless its commit was sent; `onCommit` is called before that. */
  transact<T>(work: (execute: Execute) => Promise<T>, dueAt: number, onCommit: () => void): Promise<T> {
    return this.#add(true, dueAt, (connection) => transaction(connection, work, onCommit));
  }

  transaction<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#add(true, Number.POSITIVE_INFINITY, (connection) => {
      connection.untimed = true;
      const answer = connection.begin(work).finally(() => {
        connection.untimed = false;
      });
      return { answer };
    });
  }

  get facts(): PoolFacts {
    return { ...this.connections.facts, waiting: this.#waiting.size, roundTrips: this.#roundTrips };
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#waiting.expire(new TooLate('the store is closing'));
    await this.connections.close(timeoutSeconds);
  }

  #dueAt(): number {
    return performance.now() + this.#timeoutMs;
  }

  #add<T>(exclusive: boolean, dueAt: number, send: (connection: Connection) => Sent<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new TooLate('the store is closed');
      const start = (connection: Connection) => {
        this.connections.sent(connection, exclusive);
        const startedAt = performance.now();
        const { answer, stop } = send(connection);
        const isRejected = !exclusive || stop === undefined;
        const late = (error: unknown) => {
          if (isRejected) reject(error);
          stop?.();
        };
        const number = this.#sent.add({ dueAt, reject: late });
        const answered = () => {
          this.#roundTrips.add(startedAt);
          this.#sent.remove(number);
          this.connections.answered(connection);
          this.#next();
        };
        // Neither has an effect if it was rejected before.
        answer.then(
          (value) => {
            answered();
            resolve(value);
          },
          (error) => {
            answered();
            reject(connection.failureOf(error));
          },
        );
      };
      const isNext = this.#waiting.size === 0;
      const connection = isNext ? this.connections.choose(exclusive) : undefined;
      if (connection !== undefined) return start(connection);
      this.#waiting.add({ exclusive, dueAt, start, reject });
      if (!isNext) this.#next();
    });
  }

  #next(): void {
    for (let job = this.#waiting.oldest; job !== undefined; job = this.#waiting.oldest) {
      const connection = this.connections.choose(job.exclusive);
      if (connection === undefined) return;
      this.#waiting.take(1);
      job.start(connection);
    }
  }

  /** Rejects due statements, and closes connections that do not respond. */
  #look(): void {
    if (this.#waiting.size === 0 && this.connections.facts.busy === 0) return;
    afterUnreadAnswers(() => {
      const now = performance.now();
      this.#waiting.expire(new TooLate(`no free connection within ${this.#timeoutMs} ms`), now);
      this.#sent.expire(new TooLate(`no response within ${this.#timeoutMs} ms`), now);
      this.connections.endSilent();
    });
  }
}

function transaction<T>(
  connection: Connection,
  work: (execute: Execute) => Promise<T>,
  onCommit = () => {},
): Sent<T> {
  const timed = new TimedTransaction(connection, onCommit);
  return { answer: timed.run(work), stop: () => timed.expire() };
}
