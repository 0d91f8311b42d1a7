import type { SQL } from 'bun';
import type { Connection } from './connection.ts';
import { TooLate } from './failures.ts';
import type { Statement } from './statements.ts';

/** A transaction that is rolled back when it is due before its commit is sent. */
export class TimedTransaction {
  readonly #connection: Connection;
  readonly #due = Promise.withResolvers<never>();
  readonly #running = new Set<SQL.Query<unknown>>();
  /** Undefined before it begins, and when nothing more may be done in it. */
  #sql: SQL | undefined;
  /** The commit was sent: unless it is answered, its outcome is not known. */
  isCommitting = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    // It may be due when nobody waits for that any more.
    this.#due.promise.catch(() => undefined);
  }

  /** Begins it, does the work and commits; what the work throws rolls it back. */
  commit<T>(work: (transaction: TimedTransaction) => Promise<T>): Promise<T> {
    return this.#connection.sql.begin(async (sql) => {
      this.#sql = sql;
      try {
        const result = await Promise.race([work(this), this.#due.promise]);
        this.isCommitting = true;
        return result;
      } finally {
        this.#sql = undefined;
      }
    });
  }

  /** Runs a statement in it. Rejects when it is over. */
  async run<T>(statement: Statement<T>): Promise<T> {
    if (this.#sql === undefined) throw new TooLate('the transaction is over');
    const query = statement(this.#sql);
    this.#running.add(query);
    try {
      return await query;
    } finally {
      this.#running.delete(query);
      this.#connection.movedAt = performance.now();
    }
  }

  /** Rolls it back, unless its commit was sent. */
  expire(): void {
    this.#due.reject(new TooLate('the transaction was not finished in time'));
    for (const query of this.#running) query.cancel();
  }
}
