import type { SQL } from 'bun';
import { type Resource, type Versions, versionsFrom } from '../../domain/resources.ts';
import type { Reader } from './statements.ts';

/** A row of a statement that moves a version. */
export interface Versioned {
  readonly version: bigint;
}

/** The row of `counters` that has a resource's version, and that whoever changes the resource locks until the commit. */
const counters: Readonly<Record<Resource, string>> = {
  // With all that keys stand for: plans, bans that end.
  callers: 'keys',
  pets: 'pets',
  orders: 'orders',
  categories: 'categories',
};

/**
 * The assignment that moves the version of a row of `counters`, in the statement that makes the change. Versions are
 * microseconds of the server's clock, so that they are new ones also after the database was restored from a backup.
 */
export const risenVersionText =
  'version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

export const risenVersion = (sql: SQL) => sql.unsafe(risenVersionText);

/** A common table expression that moves the version of a resource, if the condition holds, and has it. */
export function moved(sql: SQL, resource: Resource, condition = sql`true`) {
  return sql`
    moved AS (
      UPDATE counters SET ${risenVersion(sql)} WHERE name = ${counters[resource]} AND ${condition} RETURNING version
    )`;
}

/**
 * Locks resources until the commit: what is read of them from here on stays as it is. All who lock do so in one order, so
 * that none wait for each other in a circle. It is a statement of its own: only those behind it see what was committed
 * while it waited.
 */
export function lock(sql: SQL, wanted: ReadonlySet<Resource>): SQL.Query<unknown> {
  const names = JSON.stringify([...wanted].map((resource) => counters[resource]));
  return sql`
    SELECT FROM counters WHERE name IN (SELECT json_array_elements_text(${names}::text::json))
    ORDER BY name FOR UPDATE OF counters`;
}

/** The versions as they are committed. */
export async function readVersions(reader: Reader): Promise<Versions> {
  const rows = await reader.read<{ name: string; version: bigint }[]>(
    (sql) => sql`SELECT name, version FROM counters`,
  );
  const versions = new Map(rows.map(({ name, version }) => [name, Number(version)]));
  return versionsFrom((resource) => versions.get(counters[resource]) ?? 0);
}
