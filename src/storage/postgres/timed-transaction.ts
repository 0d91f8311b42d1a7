import type { SQL } from 'bun';
import type { Connection } from './connection.ts';
import { TooLate } from './failures.ts';
import type { Execute, Statement } from './statements.ts';

/** A transaction that `expire` rolls back, unless the commit was already sent. */
export class TimedTransaction {
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
