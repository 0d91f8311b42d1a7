import type { SQL } from 'bun';
import type { Connection } from './connection.ts';
import { TooLate } from './failures.ts';
import type { Execute, Statement } from './statements.ts';

/** A transaction that `expire` rolls back, unless its commit was sent. */
export class TimedTransaction {
  readonly #connection: Connection;
  readonly #onCommit: () => void;
  readonly #due = Promise.withResolvers<never>();
  readonly #running = new Set<SQL.Query<unknown>>();
  #isCommitting = false;
  #isExpired = false;

  /** `onCommit` is called before the commit is sent: without a reply, its outcome is unknown. */
  constructor(connection: Connection, onCommit: () => void) {
    this.#connection = connection;
    this.#onCommit = onCommit;
    // Prevents an unhandled rejection if it is due after the work.
    this.#due.promise.catch(() => undefined);
  }

  /** Runs the work in the transaction. An error of the work rolls it back, and later statements are rejected. */
  run<T>(work: (execute: Execute) => Promise<T>): Promise<T> {
    return this.#connection.begin(async (sql) => {
      // A pooler may let the transaction begin after it was due.
      if (this.#isExpired) return this.#due.promise;
      const execute: Execute = (statement) => this.#execute(sql, statement);
      const result = await Promise.race([work(execute), this.#due.promise]);
      if (this.#isExpired) await this.#due.promise;
      this.#isCommitting = true;
      this.#onCommit();
      return result;
    });
  }

  /** Returns the reason if nothing was changed; undefined if its commit was sent. Does not wait for the rollback. */
  expire(): TooLate | undefined {
    if (this.#isCommitting) return undefined;
    this.#isExpired = true;
    const reason = new TooLate('the transaction was not finished in time');
    this.#due.reject(reason);
    for (const query of this.#running) query.cancel();
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
