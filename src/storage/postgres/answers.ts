import { Refusal } from '../../domain/refusal.ts';
import { type AnswerRow, answerId, answerOfRow, answersRemovedAtOnce } from '../answer-row.ts';
import type { AnswerWrites, KeptAnswer } from '../transaction.ts';
import type { Statements } from './statements.ts';

export class PostgresAnswerWrites implements AnswerWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /**
   * The key is locked until the commit; several stores may share the database. It is a statement of its own: only the one
   * behind it is sure to see what was kept by who had the lock before.
   */
  async find(accountId: number, key: string, since: number): Promise<KeptAnswer | undefined> {
    const id = answerId(accountId, key);
    const [lock] = await this.#statements.run<{ isHad: boolean }[]>(
      (sql) => sql`
        SELECT pg_try_advisory_xact_lock(hashtextextended(store.id || ':' || ${id}, 0)) AS "isHad" FROM store`,
    );
    if (lock?.isHad !== true) throw new Refusal('idempotency_key_in_use');
    const [row] = await this.#statements.run<AnswerRow[]>(
      (sql) => sql`
        SELECT request, status, body, location, kept_at AS "keptAt"
        FROM idempotent_answers WHERE id = ${id} AND kept_at >= ${since}`,
    );
    return row && answerOfRow(accountId, key, row);
  }

  /** Nobody waits to remove what somebody else removes just now. */
  async keep(answer: KeptAnswer, since: number): Promise<void> {
    const { accountId, key, request, status, body, location, keptAt } = answer;
    const id = answerId(accountId, key);
    await this.#statements.run(
      (sql) => sql`
        WITH removed AS (
          DELETE FROM idempotent_answers WHERE id = ANY (ARRAY(
            SELECT id FROM idempotent_answers WHERE kept_at < ${since} AND id <> ${id}
            ORDER BY kept_at LIMIT ${answersRemovedAtOnce} FOR UPDATE SKIP LOCKED
          ))
        )
        INSERT INTO idempotent_answers (id, request, status, body, location, kept_at)
        VALUES (${id}, ${request}, ${status}, ${body}, ${location}, ${keptAt})
        ON CONFLICT (id) DO UPDATE SET
          request = excluded.request, status = excluded.status, body = excluded.body,
          location = excluded.location, kept_at = excluded.kept_at`,
    );
  }
}
