import type { Database } from 'bun:sqlite';
import {
  type ResponseRow,
  responsePruneBatch,
  responseRemovalBatch,
  toResponseId,
  toStoredResponse,
} from '../../response-row.ts';
import type { ResponseKey, ResponseWrites, StoredResponse } from '../../transaction.ts';

export class SqliteResponseWrites implements ResponseWrites {
  readonly #find;
  readonly #keep;
  readonly #removeOld;

  constructor(database: Database) {
    this.#find = database.query<ResponseRow, [string, number]>(
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

  find(keys: readonly ResponseKey[], since: number): (StoredResponse | undefined)[] {
    return keys.map(({ accountId, key }) => {
      const [row] = this.#find.all(toResponseId(accountId, key), since);
      return row && toStoredResponse(accountId, key, row);
    });
  }

  keep(storedResponses: readonly StoredResponse[], since: number): void {
    for (const { accountId, key, request, status, body, location, keptAt } of storedResponses) {
      this.#keep.run(toResponseId(accountId, key), request, status, body, location, keptAt);
      this.#removeOld.run(since, responseRemovalBatch);
    }
  }

  prune(since: number): boolean {
    return this.#removeOld.run(since, responsePruneBatch).changes >= responsePruneBatch;
  }
}
