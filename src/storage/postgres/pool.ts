import type { SQL } from 'bun';
import { Connection, type ConnectionSettings } from './connection.ts';
import { isOutOfConnections, NoAnswer, NoConnection, TooLate } from './failures.ts';

/** Makes a statement of a connection's tag. */
export type Statement<T> = (sql: SQL) => SQL.Query<T>;

export interface PoolOptions {
  readonly connection: ConnectionSettings;
  /** Most connections. */
  readonly size: number;
  /** Another connection could not be had; those that are there go on. */
  readonly onShortage: (error: Error) => void;
  /** There is no connection, and none can be had; or one does not answer. */
  readonly onUnreachable: (error: Error) => void;
}

interface Job {
  readonly exclusive: boolean;
  readonly dueAt: number;
  readonly start: (connection: Connection) => PromiseLike<void>;
  readonly reject: (error: unknown) => void;
  /** Asks the server to stop it. */
  cancel?: () => void;
}

/** Statements are sent behind others on a connection that answers: it saves half the time a statement costs. */
const deepestPipeline = 16;
/** A connection that has not answered for this long is not sent more: what it runs may wait for a lock. */
const stalledMs = 100;
/** Most statements that wait for a connection; more are refused at once. */
const longestQueue = 10_000;
/** Room for the server to end a statement itself and say so, before it counts as frozen. */
const silenceTimeouts = 1.5;
const looksPerTimeout = 20;
/** A connection that nothing was sent on for this long is closed, unless it is the last: others may be in need of it. */
const idleMs = 10_000;

/**
 * A bounded pool of connections that makes do with those it can have. The time a statement has counts from its
 * arrival here. Whether the server is frozen is judged by each connection's own answers, never by how long statements
 * wait behind each other: the server itself ends each after `statement_timeout`, and says so.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #connections = new Set<Connection>();
  readonly #jobs = new Set<Job>();
  #waiting: Job[] = [];
  #opening = 0;
  /** The last try for another connection failed. */
  #isShort = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #reaper: NodeJS.Timeout;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#reaper = setInterval(() => this.#closeIdle(), idleMs / 2).unref();
  }

  /** Runs a statement that may be sent behind others. Rejects with `TooLate` after the time-out. */
  read<T>(statement: Statement<T>, dueAt = this.#dueAt()): Promise<T> {
    return this.#add(false, dueAt, (connection) => statement(connection.sql));
  }

  /** Runs a statement with a connection to itself, so that it can be stopped when it is due (`performance.now()`). */
  write<T>(statement: Statement<T>, dueAt = this.#dueAt()): Promise<T> {
    return this.#add(true, dueAt, (connection, job) => {
      const query = statement(connection.sql);
      job.cancel = () => void query.cancel();
      return query;
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

  /** Tries for another connection. Rejects with `NoConnection`. */
  async grow(): Promise<void> {
    if (this.#connections.size + this.#opening >= this.#options.size) return;
    const connection = new Connection(this.#options.connection, (closed) => this.#remove(closed));
    this.#opening++;
    try {
      await connection.open();
    } catch (error) {
      connection.close();
      this.#isShort = true;
      // Others may be in need of one: who has several gives half of them back.
      if (isOutOfConnections(error)) this.#giveBack();
      throw new NoConnection(error);
    } finally {
      this.#opening--;
    }
    this.#isShort = false;
    if (this.#closed) connection.close();
    else this.#connections.add(connection);
    connection.movedAt = performance.now();
    this.#next();
  }

  /** Replaces all connections by new ones, when what they run is answered. */
  renew(): void {
    for (const connection of this.#connections) this.#retire(connection);
  }

  /** Rejects what waits for a connection. */
  refuseWaiting(error: Error): void {
    const waiting = this.#waiting.splice(0);
    for (const job of waiting) this.#settle(job, () => job.reject(error));
  }

  /** Waits for what is under way, up to a time, and ends all connections. */
  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    clearInterval(this.#reaper);
    this.refuseWaiting(new TooLate('the store is being closed'));
    await Promise.all([...this.#connections].map(({ sql }) => sql.close({ timeout: timeoutSeconds })));
  }

  #dueAt(): number {
    return performance.now() + this.#options.connection.statementTimeoutMs;
  }

  #add<T>(
    exclusive: boolean,
    dueAt: number,
    run: (connection: Connection, job: Job) => PromiseLike<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= longestQueue || this.#closed) {
        return reject(new TooLate(`${longestQueue} statements are waiting already`));
      }
      const start = (connection: Connection) =>
        run(connection, job).then(
          (value) => this.#settle(job, () => resolve(value)),
          (error) => this.#settle(job, () => reject(connection.failureOf(error))),
        );
      const job: Job = { exclusive, dueAt, start, reject };
      this.#jobs.add(job);
      this.#timer ??= setInterval(
        () => this.#look(),
        this.#options.connection.statementTimeoutMs / looksPerTimeout,
      ).unref();
      this.#waiting.push(job);
      this.#next();
    });
  }

  #settle(job: Job, settle: () => void): void {
    // It may have been answered before, when it was due.
    if (this.#jobs.delete(job)) settle();
  }

  /** Sends what can be sent, oldest first. */
  #next(): void {
    for (let job = this.#waiting[0]; job !== undefined; job = this.#waiting[0]) {
      const connection = this.#choose(job.exclusive);
      if (connection === undefined || connection.active > 0) this.#growUnasked();
      if (connection === undefined) return;
      this.#waiting.shift();
      this.#send(job, connection);
    }
  }

  /** An idle connection, or the one that answers and has least to do. */
  #choose(exclusive: boolean): Connection | undefined {
    const stalledSince = performance.now() - stalledMs;
    let best: Connection | undefined;
    for (const connection of this.#connections) {
      if (connection.retired || connection.exclusive) continue;
      if (connection.active === 0) return connection;
      const takesMore = connection.active < deepestPipeline && connection.movedAt > stalledSince;
      if (!exclusive && takesMore && connection.active < (best?.active ?? deepestPipeline)) best = connection;
    }
    return best;
  }

  #send(job: Job, connection: Connection): void {
    if (connection.active === 0) connection.movedAt = performance.now();
    connection.active++;
    connection.exclusive = job.exclusive;
    void job.start(connection).then(() => {
      connection.active--;
      connection.exclusive = false;
      connection.movedAt = performance.now();
      if (connection.retired) this.#retire(connection);
      this.#next();
    });
  }

  #growUnasked(): void {
    if (this.#isShort && this.#connections.size > 0) return;
    this.grow().catch((error) => {
      if (this.#connections.size > 0) this.#options.onShortage(error);
      else if (this.#opening === 0) this.#failed(error);
    });
  }

  #failed(error: Error): void {
    this.refuseWaiting(error);
    this.#options.onUnreachable(error);
  }

  #giveBack(): void {
    const connections = [...this.#connections].filter(({ retired }) => !retired);
    const idleFirst = connections.sort((one, other) => one.active - other.active);
    for (const connection of idleFirst.slice(0, Math.floor(connections.length / 2))) this.#retire(connection);
  }

  #closeIdle(): void {
    const since = performance.now() - idleMs;
    for (const connection of [...this.#connections].slice(1)) {
      if (connection.active === 0 && connection.movedAt < since) this.#retire(connection);
    }
  }

  #retire(connection: Connection): void {
    connection.retired = true;
    if (connection.active > 0) return;
    this.#connections.delete(connection);
    connection.close();
  }

  #remove(connection: Connection): void {
    connection.retired = true;
    if (this.#connections.delete(connection)) this.#next();
  }

  /** Looks for what is due, and for connections that do not answer. */
  #look(): void {
    if (this.#jobs.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    // After a turn that took long, answers may lie in the socket unread: they are let in before judging.
    setImmediate(() =>
      setImmediate(() => {
        const now = performance.now();
        this.#endDue(now);
        this.#endSilent(now);
      }),
    );
  }

  #endDue(now: number): void {
    const { statementTimeoutMs } = this.#options.connection;
    for (const job of this.#jobs) {
      if (job.dueAt > now) continue;
      if (job.cancel !== undefined) {
        // What it comes to is known when the server has answered.
        job.cancel();
        job.cancel = () => undefined;
        continue;
      }
      const isWaiting = this.#waiting.includes(job);
      if (isWaiting) this.#waiting = this.#waiting.filter((other) => other !== job);
      const what = isWaiting ? 'no connection was free' : 'no answer';
      this.#settle(job, () => job.reject(new TooLate(`${what} within ${statementTimeoutMs} ms`)));
    }
  }

  #endSilent(now: number): void {
    const silentMs = this.#options.connection.statementTimeoutMs * silenceTimeouts;
    for (const connection of this.#connections) {
      if (connection.active === 0 || connection.untimed || now - connection.movedAt < silentMs) continue;
      const failure = new NoAnswer(`no answer within ${silentMs} ms`);
      this.#connections.delete(connection);
      connection.retired = true;
      connection.close(failure);
      // The others may be as dead, and not know it.
      this.renew();
      this.#failed(failure);
    }
  }
}
