import type { Database } from 'bun:sqlite';
import {
  type AnswerRow,
  answerId,
  answerOfRow,
  answerPruneBatch,
  answerRemovalBatch,
} from '../../answer-row.ts';
import type { AnswerKey, AnswerWrites, KeptAnswer } from '../../transaction.ts';

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
    this.#removeOld = database.query<never, [number, number]>(
      `DELETE FROM idempotent_answers WHERE rowid IN (
         SELECT rowid FROM idempotent_answers WHERE kept_at < ? ORDER BY kept_at LIMIT ?
       )`,
    );
  }

  find(keys: readonly AnswerKey[], since: number): (KeptAnswer | undefined)[] {
    return keys.map(({ accountId, key }) => {
      const [row] = this.#find.all(answerId(accountId, key), since);
      return row && answerOfRow(accountId, key, row);
    });
  }

  keep(answers: readonly KeptAnswer[], since: number): void {
    for (const { accountId, key, request, status, body, location, keptAt } of answers) {
      this.#keep.run(answerId(accountId, key), request, status, body, location, keptAt);
      this.#removeOld.run(since, answerRemovalBatch);
    }
  }

  prune(since: number): boolean {
    return this.#removeOld.run(since, answerPruneBatch).changes >= answerPruneBatch;
  }
}
