import type { Database } from 'bun:sqlite';
import { type AnswerRow, answerId, answerOfRow, answersRemovedAtOnce } from '../answer-row.ts';
import type { AnswerWrites, KeptAnswer } from '../transaction.ts';

/** Nobody else writes meanwhile, so no key is ever in use by another transaction. */
export class SqliteAnswerWrites implements AnswerWrites {
  readonly #find;
  readonly #keep;
  readonly #removeOld;

  constructor(database: Database) {
    this.#find = database.query<AnswerRow, [string, number]>(
      `SELECT request, status, body, location, kept_at AS keptAt
       FROM idempotent_answers WHERE id = ? AND kept_at >= ?`,
    );
    this.#keep = database.query<never, [string, string, number, string | null, string | null, number]>(
      `INSERT OR REPLACE INTO idempotent_answers (id, request, status, body, location, kept_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#removeOld = database.query<never, [number]>(
      `DELETE FROM idempotent_answers WHERE rowid IN (
         SELECT rowid FROM idempotent_answers WHERE kept_at < ? ORDER BY kept_at LIMIT ${answersRemovedAtOnce}
       )`,
    );
  }

  find(accountId: number, key: string, since: number): KeptAnswer | undefined {
    const [row] = this.#find.all(answerId(accountId, key), since);
    return row && answerOfRow(accountId, key, row);
  }

  keep({ accountId, key, request, status, body, location, keptAt }: KeptAnswer, since: number): void {
    this.#keep.run(answerId(accountId, key), request, status, body, location, keptAt);
    this.#removeOld.run(since);
  }
}
