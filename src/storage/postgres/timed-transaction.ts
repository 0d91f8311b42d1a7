import type { SQL } from 'bun';
import type { Connection } from './connection.ts';
import { TooLate } from './failures.ts';
import type { Execute, Statement } from './statements.ts';

/** A transaction that is rolled back when it is due before its commit is sent. */
export class TimedTransaction {
  readonly #connection: Connection;
  readonly #onCommit: () => void;
  readonly #due = Promise.withResolvers<never>();
  readonly #running = new Set<SQL.Query<unknown>>();

  /** `onCommit` is called when the commit is sent: unless it is answered, its outcome is not known. */
  constructor(connection: Connection, onCommit: () => void) {
    this.#connection = connection;
    this.#onCommit = onCommit;
    // It may be due when nobody waits for that any more.
    this.#due.promise.catch(() => undefined);
  }

  /** Begins it, does the work and commits; what the work throws rolls it back, and later statements are rejected. */
  run<T>(work: (execute: Execute) => Promise<T>): Promise<T> {
    return this.#connection.sql.begin(async (sql) => {
      const execute: Execute = (statement) => this.#execute(sql, statement);
      const result = await Promise.race([work(execute), this.#due.promise]);
      this.#onCommit();
      return result;
    });
  }

  /** Rolls it back, unless its commit was sent. */
  expire(): void {
    this.#due.reject(new TooLate('the transaction was not finished in time'));
    for (const query of this.#running) query.cancel();
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
