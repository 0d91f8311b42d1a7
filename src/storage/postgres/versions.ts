import type { SQL } from 'bun';
import { type Resource, type Versions, versionsFrom } from '../../domain/resources.ts';
import type { Runner } from './statements.ts';

/** The row of `counters` with a resource's version, locked by changes. That of keys also covers accounts, plans, lifted bans. */
export const versionCounter = (resource: Resource): string => (resource === 'callers' ? 'keys' : resource);

/** Raises a version to the server's clock in microseconds, so that it is new even after a restore from a backup. */
export const risenVersionText =
  'version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

export const risenVersion = (sql: SQL) => sql.unsafe(risenVersionText);

/** A common table expression that raises the version of a resource, and returns it. */
export const movedText = (resource: Resource): string =>
  `moved AS (UPDATE counters SET ${risenVersionText} WHERE name = '${versionCounter(resource)}' RETURNING version)`;

/**
 * Locks resources until the commit, so that what is read from here on does not change. Every transaction locks them in
 * the same order, to avoid deadlock. It is a separate statement, because only later statements see what was committed
 * while it waited.
 */
export function lock(sql: SQL, wanted: ReadonlySet<Resource>): SQL.Query<unknown> {
  const names = JSON.stringify([...wanted].map((resource) => versionCounter(resource)));
  return sql`
    SELECT FROM counters WHERE name IN (SELECT json_array_elements_text(${names}::text::json))
    ORDER BY name FOR UPDATE OF counters`;
}

export async function readVersions({ run }: Runner): Promise<Versions> {
  const rows = await run(
    (sql): SQL.Query<{ name: string; version: bigint }[]> => sql`SELECT name, version FROM counters`,
  );
  const versions = new Map(rows.map(({ name, version }) => [name, Number(version)]));
  return versionsFrom((resource) => versions.get(versionCounter(resource)) ?? 0);
}
