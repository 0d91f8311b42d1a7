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
 * Locks resources until the commit, so that later reads do not change. Every transaction locks them in the same order,
 * to avoid deadlock. It is a separate statement, because only later statements see the data committed while it waited.
 */
export function lock(sql: SQL, wanted: ReadonlySet<Resource>): SQL.Query<unknown> {
  const names = JSON.stringify([...wanted].map((resource) => versionCounter(resource)));
  return sql`
    SELECT FROM counters WHERE name IN (SELECT json_array_elements_text(${names}::text::json))
    ORDER BY name FOR UPDATE OF counters`;
}

/** Placeholder for a version that has to be read: a unit that changed nothing depends on it. */
export const unread = -1;

/** Notes that a unit depends on the current state of these resources. */
export function restOn(moved: Map<Resource, number>, its: readonly Resource[]): void {
  for (const resource of its) if (!moved.has(resource)) moved.set(resource, unread);
}

/** Version of a server's data, and the server they come from. */
export interface ServerState {
  readonly versions: Versions;
  /** The id of the store. */
  readonly store: string | null;
  /** Start of the primary, as recorded in the store: a replica replays it from its primary. */
  readonly primary: string | null;
  /** Start of this server. */
  readonly started: string;
  readonly isStandby: boolean;
}

interface StateRow extends Omit<ServerState, 'versions'> {
  readonly name: string;
  readonly version: bigint;
}

export async function readState({ run }: Runner): Promise<ServerState> {
  const rows = await run(
    (sql): SQL.Query<StateRow[]> => sql`
      SELECT name, version, store.id AS store, primary_started AS primary,
             extract(epoch FROM pg_postmaster_start_time())::text AS started, pg_is_in_recovery() AS "isStandby"
      FROM counters LEFT JOIN store ON true`,
  );
  const versions = new Map(rows.map(({ name, version }) => [name, Number(version)]));
  const { store = null, primary = null, started = '', isStandby = false } = rows[0] ?? {};
  return {
    ...{ store, primary, started, isStandby },
    versions: versionsFrom((resource) => versions.get(versionCounter(resource)) ?? 0),
  };
}
