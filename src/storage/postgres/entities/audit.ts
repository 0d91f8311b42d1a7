import type { SQL } from 'bun';
import { audit } from '../../../tables/operators.ts';
import { createRowReader, selectColumns } from '../../../tables/sql.ts';
import type { AuditFilter, AuditStore } from '../../admin.ts';
import type { Runner } from '../statements.ts';

const entriesOf = createRowReader(audit);

export const auditStore = ({ run }: Runner): AuditStore => ({
  list: async (before, limit, filter) =>
    entriesOf([...(await run((sql) => page(sql, before, limit, filter)))]),
});

const endless = 9_223_372_036_854_775_807n;

/**
 * Starts at the cursor or at the end of the requested period, whichever is earlier. ORDER BY lists every column of the
 * index, as in `PostgresEntity`. Rows of the inner query that do not match the filter are discarded.
 */
function page(
  sql: SQL,
  before: bigint | undefined,
  limit: number,
  { since = 0, until, actor, object, operation }: AuditFilter,
): SQL.Query<unknown[]> {
  const end = until === undefined ? endless : BigInt(until);
  const entryAt = sql`(SELECT at FROM audit WHERE id = ${before ?? null}::bigint)`;
  const endAt = sql`least(${entryAt}, ${end}::bigint)`;
  const endId = sql`CASE WHEN ${entryAt} < ${end}::bigint THEN ${before ?? null}::bigint ELSE 0 END`;
  const filters: readonly (readonly [column: SQL.Query<unknown>, value: string | undefined])[] = [
    [sql`object`, object],
    [sql`actor`, actor],
    [sql`operation`, operation],
  ];
  let columns = sql``;
  let values = sql``;
  let order = sql``;
  let belongs = sql`at >= ${since}`;
  for (const [column, value] of filters) {
    if (value === undefined) continue;
    columns = sql`${columns} ${column},`;
    values = sql`${values} ${value}::text,`;
    order = sql`${order} ${column} DESC,`;
    belongs = sql`${belongs} AND ${column} = ${value}`;
  }
  return sql`
    SELECT ${sql.unsafe(selectColumns(audit))} FROM (
      SELECT * FROM audit WHERE (${columns} at, id) < (${values} ${endAt}, ${endId})
      ORDER BY ${order} at DESC, id DESC LIMIT ${limit}
    ) AS page WHERE ${belongs}
    ORDER BY at DESC, id DESC`;
}
