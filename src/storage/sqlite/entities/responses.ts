import type { Database } from 'bun:sqlite';
import {
  type ResponseRow,
  responsePruneBatch,
  responseRemovalBatch,
  toResponseId,
  toStoredResponse,
} from '../../response-row.ts';
import type { ResponseWrites } from '../../transaction.ts';

export function responseWrites(database: Database): ResponseWrites {
  const select = database.query<ResponseRow, [string, number]>(
    `SELECT request, status, body, location, kept_at AS keptAt
     FROM idempotent_answers WHERE id = ? AND kept_at >= ?`,
  );
  const insert = database.query<never, [string, string, number, string | null, string | null, number]>(
    `INSERT OR REPLACE INTO idempotent_answers (id, request, status, body, location, kept_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const removeOld = database.query<never, [number, number]>(
    `DELETE FROM idempotent_answers WHERE rowid IN (
       SELECT rowid FROM idempotent_answers WHERE kept_at < ? ORDER BY kept_at LIMIT ?
     )`,
  );
  return {
    find: (keys, since) =>
      keys.map(({ accountId, key }) => {
        const [row] = select.all(toResponseId(accountId, key), since);
        return row && toStoredResponse(accountId, key, row);
      }),
    keep: (storedResponses, since) => {
      for (const { accountId, key, request, status, body, location, keptAt } of storedResponses) {
        insert.run(toResponseId(accountId, key), request, status, body, location, keptAt);
        removeOld.run(since, responseRemovalBatch);
      }
    },
    prune: (since) => removeOld.run(since, responsePruneBatch).changes >= responsePruneBatch,
  };
}
