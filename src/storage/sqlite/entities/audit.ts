import type { Database } from 'bun:sqlite';
import { audit } from '../../../tables/operators.ts';
import { createRowReader, selectColumns } from '../../../tables/sql.ts';
import type { SqlValue } from '../../../tables/table.ts';
import type { AuditStore } from '../../admin.ts';
import type { RunRead } from './entity.ts';

const entriesOf = createRowReader(audit);

export const auditStore = (database: Database, read: RunRead): AuditStore => ({
  list: (before, limit, filter) => {
    const { object, actor, operation, since = 0, until = Number.MAX_SAFE_INTEGER } = filter;
    const filters = Object.entries({ object, actor, operation }).filter(([, value]) => value !== undefined);
    const names = filters.map(([name]) => name);
    const values = filters.map(([, value]) => value as string);
    // Names the index explicitly, because SQLite does not always choose it.
    const page = `
      SELECT ${selectColumns(audit)} FROM audit INDEXED BY audit_by_${names.join('_and_') || 'time'}
      WHERE ${names.map((name) => `${name} = ? AND`).join(' ')} at >= ? AND (at, id) < (?, ?)
      ORDER BY at DESC, id DESC LIMIT ?`;
    const rows = read(() => {
      const position = findPosition(database, before, until);
      return database.query<unknown, SqlValue[]>(page).all(...values, since, ...position, limit);
    });
    return entriesOf(rows);
  },
});

/** Returns the position of the entry `before`, or the end of the requested range, whichever is earlier. */
function findPosition(
  database: Database,
  before: bigint | undefined,
  until: number,
): [at: number | bigint, id: bigint] {
  // Entry ids start at 1.
  if (before === undefined) return [until, 0n];
  const select = database.query<{ at: bigint }, [bigint]>('SELECT at FROM audit WHERE id = ?');
  const at = select.get(before)?.at;
  return at === undefined || at >= until ? [until, 0n] : [at, before];
}
