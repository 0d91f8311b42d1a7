import {
  type ResponseRow,
  responsePruneBatch,
  responseRemovalBatch,
  toResponseId,
  toStoredResponse,
} from '../../response-row.ts';
import type { ResponseWrites, StoredResponse } from '../../transaction.ts';
import { PostgresEngine } from '../engine.ts';
import { TransactionConflict } from '../failures.ts';
import type { Statements } from '../statements.ts';

const pruning = `DELETE FROM idempotent_answers WHERE id = ANY (ARRAY(
  SELECT id FROM idempotent_answers WHERE kept_at < $1 ORDER BY kept_at LIMIT ${responsePruneBatch} FOR UPDATE SKIP LOCKED
))`;

/** Passes keys and responses as JSON in one parameter, because their number varies from group to group. */
export const responseWrites = (statements: Statements): ResponseWrites => ({
  find: async (keys, since) => {
    const ids = keys.map(({ accountId, key }) => toResponseId(accountId, key));
    const rows = await statements.run<(ResponseRow & { id: string })[]>(
      (sql) => sql`
        SELECT id, request, status, body, location, kept_at AS "keptAt" FROM idempotent_answers
        WHERE id = ANY (ARRAY(SELECT json_array_elements_text(${JSON.stringify(ids)}::text::json)))
          AND kept_at >= ${since}`,
    );
    const rowsById = new Map(rows.map(({ id, ...row }) => [id, row]));
    return keys.map(({ accountId, key }, index) => {
      const row = rowsById.get(ids[index] ?? '');
      return row && toStoredResponse(accountId, key, row);
    });
  },
  keep: async (storedResponses, since) => {
    const rows = storedResponses.map(({ accountId, key, request, status, body, location, keptAt }) => {
      return [toResponseId(accountId, key), request, status, body, location, keptAt];
    });
    const limit = responseRemovalBatch * storedResponses.length;
    const stored = await statements.run<unknown[]>(
      (sql) => sql`
        WITH kept AS (
          SELECT value->>0 AS id, value->>1 AS request, (value->>2)::bigint AS status, value->>3 AS body,
                 value->>4 AS location, (value->>5)::bigint AS kept_at
          FROM json_array_elements(${JSON.stringify(rows)}::text::json) AS response (value)
        ), removed AS (
          DELETE FROM idempotent_answers WHERE id = ANY (ARRAY(
            SELECT id FROM idempotent_answers WHERE kept_at < ${since} AND id NOT IN (SELECT id FROM kept)
            ORDER BY kept_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
          ))
        )
        INSERT INTO idempotent_answers (id, request, status, body, location, kept_at)
        SELECT id, request, status, body, location, kept_at FROM kept ORDER BY id
        ON CONFLICT (id) DO UPDATE SET
          request = excluded.request, status = excluded.status, body = excluded.body,
          location = excluded.location, kept_at = excluded.kept_at
        WHERE idempotent_answers.kept_at < ${since} RETURNING 1`,
    );
    if (stored.length < rows.length)
      throw new TransactionConflict('another transaction stored a response for this key');
  },
  /** Skips rows that are locked by another transaction. */
  prune: async (since) => {
    const removed = await new PostgresEngine(statements).run(pruning, since);
    return removed === responsePruneBatch;
  },
});

/** The responses of a transaction's units. */
export class TransactionResponses {
  readonly #byId = new Map<string, StoredResponse>();
  #since = 0;

  /**
   * Keeps the responses of a unit in memory until the unit has succeeded, and the returned function is called. The unit finds
   * the responses of earlier units.
   */
  ofUnit(statements: Statements): { readonly writes: ResponseWrites; readonly succeeded: () => void } {
    const stored = responseWrites(statements);
    const own: StoredResponse[] = [];
    const writes: ResponseWrites = {
      find: async (keys, since) => {
        const rows = await stored.find(keys, since);
        return keys.map(
          ({ accountId, key }, index) => this.#byId.get(toResponseId(accountId, key)) ?? rows[index],
        );
      },
      keep: (responses, since) => {
        own.push(...responses);
        this.#since = Math.max(this.#since, since);
      },
      prune: stored.prune,
    };
    const succeeded = () => {
      for (const response of own) this.#byId.set(toResponseId(response.accountId, response.key), response);
    };
    return { writes, succeeded };
  }

  /**
   * Stores all responses in one statement, in the order of their keys. Must be the last statement of the transaction: another
   * transaction may wait for one of these rows while it holds locks, so this one must not wait for any of these locks.
   */
  async store(statements: Statements): Promise<void> {
    if (this.#byId.size > 0) await responseWrites(statements).keep([...this.#byId.values()], this.#since);
  }
}
