import type { SQL } from 'bun';
import { afterUnreadReplies, DeadlineQueue, type Pending } from '../../outages/deadline-queue.ts';
import { RoundTripStatistics } from '../../outages/round-trip-statistics.ts';
import type { Connection } from './connection.ts';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { NoReplyError, StatementTimeout } from './failures.ts';
import type { Session } from './index-builds.ts';
import type { Execute, Statement } from './statements.ts';

interface Job extends Pending {
  readonly exclusive: boolean;
  readonly start: (connection: Connection) => void;
}

interface Sent<T> {
  readonly answer: PromiseLike<T>;
  /**
   * Called at the deadline. Returns the error if nothing was changed; undefined if the outcome is unknown until the
   * server replies.
   */
  readonly stop: () => StatementTimeout | undefined;
}

export interface PoolFacts {
  readonly connections: number;
  readonly busy: number;
  readonly waiting: number;
  /** Number and duration of statements and transactions, excluding time in the queue. */
  readonly roundTrips: RoundTripStatistics;
}

/** Maximum number of statements waiting for a connection. Additional statements are rejected immediately. */
const maxQueueLength = 10_000;
const checksPerTimeout = 80;
/**
 * Time the server has to confirm that a write was canceled, as a fraction of the timeout. After that, the outcome is
 * considered unknown.
 */
const confirmationPart = 0.05;
/**
 * If a commit that waits for a synchronous standby is canceled, the server ends the wait and reports success, although
 * the standby may lack the change. If that standby is then promoted, the change is lost.
 */
const canceledSuccess =
  'the write was canceled, but the server reports success; a synchronous standby may lack it';

/**
 * Runs statements on a limited number of connections. The timeout of a statement includes time in the queue. A hung
 * server is detected by missing replies on a connection, not by queueing time: a working server cancels each statement
 * after `statement_timeout`.
 */
export class Pool {
  readonly #timeoutMs: number;
  readonly connections: Connections;
  readonly #waiting = new DeadlineQueue<Job>({
    maxEntries: maxQueueLength,
    overload: (size) => new StatementTimeout(`too many queued statements (${size})`),
  });
  readonly #sent = new DeadlineQueue();
  /** Runs while there are statements. */
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #roundTrips = new RoundTripStatistics();

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
  }

  /** Runs a statement that may be pipelined. Rejects with `StatementTimeout` at `dueAt` (`performance.now()`). */
  read<T>(statement: Statement<T>, dueAt = this.#dueAt()): Promise<T> {
    return this.#add(false, dueAt, (connection) => {
      if (!connection.hasSettings) return transaction(connection, (execute) => execute(statement));
      return { answer: statement(connection.sql), stop: () => this.#unanswered() };
    });
  }

  /** Runs two statements in order in the same session, possibly pipelined. Rejects like `read`. */
  readInTurn<A, B>(first: Statement<A>, second: Statement<B>, dueAt = this.#dueAt()): Promise<[A, B]> {
    return this.#add(false, dueAt, (connection) => {
      if (connection.throughPooler) {
        return transaction(connection, async (execute) => [await execute(first), await execute(second)]);
      }
      const { sql } = connection;
      return { answer: Promise.all([first(sql), second(sql)]), stop: () => this.#unanswered() };
    });
  }

  /**
   * Runs a statement on a dedicated connection, so that it can be canceled at `dueAt`. Rejects with `NoReplyError` if the
   * server does not confirm the cancellation in time, or if the canceled statement succeeds. `onCommit` is called before
   * any statement that may commit is sent.
   */
  write<T>(statement: Statement<T>, dueAt = this.#dueAt(), onCommit = () => {}): Promise<T> {
    return this.#add(true, dueAt, (connection) => {
      if (!connection.hasSettings) return transaction(connection, (execute) => execute(statement), onCommit);
      onCommit();
      const query = statement(connection.sql);
      let isCanceled = false;
      const answer = query.then((result) => {
        if (isCanceled) throw new NoReplyError(canceledSuccess);
        return result;
      });
      const stop = () => {
        isCanceled = true;
        connection.cancel(query);
        return undefined;
      };
      return { answer, stop };
    });
  }

  /**
   * Runs a transaction, and rolls it back at `dueAt` unless the commit was already sent. `onCommit` is called before
   * the commit is sent. Rejects like `write`.
   */
  transact<T>(work: (execute: Execute) => Promise<T>, dueAt: number, onCommit: () => void): Promise<T> {
    return this.#add(true, dueAt, (connection) => transaction(connection, work, onCommit));
  }

  transaction<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#untimed((connection) => connection.begin(work));
  }

  session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#untimed((connection) => connection.untimedSession(work));
  }

  get facts(): PoolFacts {
    return { ...this.connections.facts, waiting: this.#waiting.size, roundTrips: this.#roundTrips };
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#waiting.expire(new StatementTimeout('the store is closing'));
    await this.connections.close(timeoutSeconds);
  }

  #untimed<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#add(true, Number.POSITIVE_INFINITY, (connection) => {
      connection.untimed = true;
      const answer = work(connection).finally(() => {
        connection.untimed = false;
      });
      return { answer, stop: () => undefined };
    });
  }

  #unanswered(): StatementTimeout {
    return new StatementTimeout(`no response within ${this.#timeoutMs} ms`);
  }

  #dueAt(): number {
    return performance.now() + this.#timeoutMs;
  }

  #add<T>(exclusive: boolean, dueAt: number, send: (connection: Connection) => Sent<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new StatementTimeout('the store is closed');
      if (dueAt < performance.now()) throw new StatementTimeout(`not sent within ${this.#timeoutMs} ms`);
      this.#timer ??= setInterval(() => this.#check(), this.#timeoutMs / checksPerTimeout).unref();
      const start = (connection: Connection) => {
        this.connections.sent(connection, exclusive);
        const startedAt = performance.now();
        const { answer, stop } = send(connection);
        const stopWatching = this.#watch(dueAt, stop, reject);
        const answered = () => {
          this.#roundTrips.add(startedAt);
          stopWatching();
          this.connections.answered(connection);
          this.#next();
        };
        // If the promise was already rejected, `resolve` and `reject` have no effect.
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

  /** Rejects a statement at its deadline, unless the returned function is called first. */
  #watch(dueAt: number, stop: Sent<unknown>['stop'], reject: (error: unknown) => void): () => void {
    const expire = () => {
      const reason = stop();
      if (reason !== undefined) return reject(reason);
      const confirmedBy = performance.now() + this.#timeoutMs * confirmationPart;
      number = this.#sent.add({ dueAt: confirmedBy, reject });
    };
    let number = this.#sent.add({ dueAt, reject: expire });
    return () => void this.#sent.remove(number);
  }

  #next(): void {
    for (let job = this.#waiting.oldest; job !== undefined; job = this.#waiting.oldest) {
      const connection = this.connections.choose(job.exclusive);
      if (connection === undefined) return;
      this.#waiting.take(1);
      job.start(connection);
    }
  }

  /** Rejects statements past their deadline, and closes unresponsive connections. */
  #check(): void {
    if (this.#waiting.size === 0 && this.connections.facts.busy === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    afterUnreadReplies(() => {
      const now = performance.now();
      this.#waiting.expire(new StatementTimeout(`no free connection within ${this.#timeoutMs} ms`), now);
      this.#sent.expire(new NoReplyError(`no response within ${this.#timeoutMs} ms`), now);
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

/** A transaction that `expire` rolls back, unless the commit was already sent. */
class TimedTransaction {
  readonly #connection: Connection;
  readonly #onCommit: () => void;
  readonly #due = Promise.withResolvers<never>();
  readonly #running = new Set<SQL.Query<unknown>>();
  #isCommitting = false;
  #isExpired = false;

  /** `onCommit` is called before the commit is sent. Without a reply to the commit, the outcome is unknown. */
  constructor(connection: Connection, onCommit: () => void) {
    this.#connection = connection;
    this.#onCommit = onCommit;
    // Prevents an unhandled rejection if the deadline passes after the work has completed.
    this.#due.promise.catch(() => undefined);
  }

  /**
   * Runs `work` in the transaction. If `work` fails, the transaction is rolled back and later statements are rejected.
   */
  run<T>(work: (execute: Execute) => Promise<T>): Promise<T> {
    return this.#connection.begin(async (sql) => {
      // Through a pooler, the transaction may begin after its deadline.
      if (this.#isExpired) return this.#due.promise;
      const execute: Execute = (statement) => this.#execute(sql, statement);
      const result = await Promise.race([work(execute), this.#due.promise]);
      if (this.#isExpired) await this.#due.promise;
      this.#isCommitting = true;
      this.#onCommit();
      return result;
    });
  }

  /** Rolls the transaction back without waiting. Returns the reason, or undefined if the commit was already sent. */
  expire(): StatementTimeout | undefined {
    if (this.#isCommitting) return undefined;
    this.#isExpired = true;
    const reason = new StatementTimeout('the transaction was not finished in time');
    this.#due.reject(reason);
    for (const query of this.#running) this.#connection.cancel(query);
    return reason;
  }

  async #execute<T>(sql: SQL, statement: Statement<T>): Promise<T> {
    const query = statement(sql);
    this.#running.add(query);
    try {
      return await query;
    } finally {
      this.#running.delete(query);
      this.#connection.movedAt = performance.now();
    }
  }
}
