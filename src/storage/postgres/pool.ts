import type { SQL } from 'bun';
import { RoundTrips } from '../round-trips.ts';
import type { Connection } from './connection.ts';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { TooLate } from './failures.ts';
import type { Execute, Statement } from './statements.ts';
import { TimedTransaction } from './timed-transaction.ts';

interface Job {
  readonly exclusive: boolean;
  /** When it has to be answered (`performance.now()`). */
  readonly dueAt: number;
  readonly start: (connection: Connection) => void;
  readonly reject: (error: Error) => void;
  /** Stops it, when it is due. */
  cancel?: () => void;
}

/** What a pool does now, and has done. */
export interface PoolFacts {
  readonly connections: number;
  /** Connections that run something. */
  readonly busy: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
  /** Statements and transactions, from when they were sent. */
  readonly roundTrips: RoundTrips;
}

/** Most statements that wait for a connection; more are refused at once. */
const longestQueue = 10_000;
/** How often it is looked for statements that are due. */
const looksPerTimeout = 20;

/**
 * Runs statements on a bounded number of connections, and makes do with those it can have. The time a statement has
 * counts from its arrival here. Whether the server is frozen is checked by each connection's own answers, never by how
 * long statements wait behind each other: the server itself ends each after `statement_timeout`, and says so.
 */
export class Pool {
  readonly #timeoutMs: number;
  readonly #connections: Connections;
  readonly #jobs = new Set<Job>();
  #waiting: Job[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #roundTrips = new RoundTrips();

  constructor(options: Omit<ConnectionsOptions, 'onChange'>) {
    this.#timeoutMs = options.connection.statementTimeoutMs;
    this.#connections = new Connections({
      ...options,
      onChange: () => this.#next(),
      onUnreachable: (error) => {
        this.#refuseWaiting(error);
        options.onUnreachable(error);
      },
    });
  }

  /** Runs a statement that may be sent behind others. Rejects with `TooLate` after the time-out. */
  read<T>(statement: Statement<T>): Promise<T> {
    return this.#add(false, this.#dueAt(), (connection) => statement(connection.sql));
  }

  /** Runs a statement with a connection to itself, so that it can be stopped when it is due (`performance.now()`). */
  write<T>(statement: Statement<T>, dueAt = this.#dueAt()): Promise<T> {
    return this.#add(true, dueAt, (connection, job) => {
      const query = statement(connection.sql);
      job.cancel = () => void query.cancel();
      return query;
    });
  }

  /**
   * Runs a transaction with a connection to itself; when it is due before its commit is sent, it is rolled back.
   * `onCommit` is called when that is sent.
   */
  transact<T>(work: (execute: Execute) => Promise<T>, dueAt: number, onCommit: () => void): Promise<T> {
    return this.#add(true, dueAt, (connection, job) => {
      const transaction = new TimedTransaction(connection, onCommit);
      job.cancel = () => transaction.expire();
      return transaction.run(work);
    });
  }

  /** Runs a transaction of any length. */
  transaction<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    return this.#add(true, Number.POSITIVE_INFINITY, (connection) => {
      connection.untimed = true;
      return connection.sql.begin(work).finally(() => {
        connection.untimed = false;
      });
    });
  }

  get facts(): PoolFacts {
    const waiting = this.#waiting.length;
    return { ...this.#connections.facts, waiting, roundTrips: this.#roundTrips };
  }

  /** Opens as many connections as it may. Rejects with `NoConnection` when one cannot be had. */
  fill(): Promise<void> {
    return this.#connections.fill();
  }

  /** Replaces all connections by new ones, when what they run is answered. */
  renew(): void {
    this.#connections.renew();
  }

  /** Waits for what is under way, up to a time, and ends all connections. */
  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#refuseWaiting(new TooLate('the store is closing'));
    await this.#connections.close(timeoutSeconds);
  }

  #dueAt(): number {
    return performance.now() + this.#timeoutMs;
  }

  #add<T>(
    exclusive: boolean,
    dueAt: number,
    run: (connection: Connection, job: Job) => PromiseLike<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new TooLate('the store is closed'));
      if (this.#waiting.length >= longestQueue) {
        return reject(new TooLate(`too many queued statements (${longestQueue})`));
      }
      let startedAt = 0;
      const answered = (connection: Connection) => {
        this.#roundTrips.add(startedAt);
        this.#connections.answered(connection);
        this.#next();
        // It may have been refused before, when it was due.
        return this.#jobs.delete(job);
      };
      const start = (connection: Connection) => {
        startedAt = performance.now();
        run(connection, job).then(
          (value) => answered(connection) && resolve(value),
          (error) => answered(connection) && reject(connection.failureOf(error)),
        );
      };
      const job: Job = { exclusive, dueAt, start, reject };
      this.#jobs.add(job);
      this.#timer ??= setInterval(() => this.#look(), this.#timeoutMs / looksPerTimeout).unref();
      this.#waiting.push(job);
      this.#next();
    });
  }

  /** Sends what can be sent, oldest first. */
  #next(): void {
    for (let job = this.#waiting[0]; job !== undefined; job = this.#waiting[0]) {
      const connection = this.#connections.choose(job.exclusive);
      if (connection === undefined) return;
      this.#waiting.shift();
      this.#connections.sent(connection, job.exclusive);
      job.start(connection);
    }
  }

  #refuse(job: Job, reason: string | Error): void {
    this.#jobs.delete(job);
    job.reject(typeof reason === 'string' ? new TooLate(reason) : reason);
  }

  #refuseWaiting(error: Error): void {
    const waiting = this.#waiting.splice(0);
    for (const job of waiting) this.#refuse(job, error);
  }

  /** Looks for what is due, and for connections that do not answer. */
  #look(): void {
    if (this.#jobs.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    // After a turn that took long, answers may lie in the socket unread: they are let in before deciding.
    setImmediate(() =>
      setImmediate(() => {
        this.#endDue(performance.now());
        this.#connections.endSilent();
      }),
    );
  }

  #endDue(now: number): void {
    const late = this.#waiting.filter(({ dueAt }) => dueAt <= now);
    if (late.length > 0) this.#waiting = this.#waiting.filter(({ dueAt }) => dueAt > now);
    for (const job of late) this.#refuse(job, `no free connection within ${this.#timeoutMs} ms`);
    for (const job of this.#jobs) {
      if (job.dueAt > now) continue;
      if (job.cancel === undefined) this.#refuse(job, `no response within ${this.#timeoutMs} ms`);
      // What it comes to is known when the server has answered.
      else job.cancel();
      job.cancel = () => undefined;
    }
  }
}
