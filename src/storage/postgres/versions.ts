import type { SQL } from 'bun';
import { mapVersions, type Resource, type Versions } from '../../domain/resources.ts';
import type { Runner } from './statements.ts';

/**
 * Returns the name of the counter that stores a resource's version. Every change locks the row of this counter. The
 * counter `keys` also covers accounts, plans and lifted bans.
 */
export const versionCounter = (resource: Resource): string => (resource === 'callers' ? 'keys' : resource);

/**
 * Raises a version to the server's time in microseconds, so that the version is new even after a restore from a backup.
 */
export const incrementVersionSql =
  'version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

export const incrementVersion = (sql: SQL) => sql.unsafe(incrementVersionSql);

/** A common table expression that raises and returns the version of a resource. */
export const incrementVersionCte = (resource: Resource): string =>
  `moved AS (UPDATE counters SET ${incrementVersionSql} WHERE name = '${versionCounter(resource)}' RETURNING version)`;

/**
 * Locks resources until the commit, so that later reads return the same data. Every transaction locks resources in the
 * same order, to avoid deadlocks. The lock is a separate statement, because only later statements see data that was
 * committed while it waited for the lock.
 */
export function lock(sql: SQL, wanted: ReadonlySet<Resource>): SQL.Query<unknown> {
  const names = JSON.stringify([...wanted].map((resource) => versionCounter(resource)));
  return sql`
    SELECT FROM counters WHERE name IN (SELECT json_array_elements_text(${names}::text::json))
    ORDER BY name FOR UPDATE OF counters`;
}

/** Locks all resources until the commit, in the same order as `lock`. */
export const lockCounters = (sql: SQL): SQL.Query<unknown> =>
  sql`SELECT FROM counters ORDER BY name FOR UPDATE`;

/** Placeholder for the version of a resource that a unit depends on but did not change. */
export const unknownVersion = -1;

/** Records that a unit depends on the current state of these resources. */
export function addDependencies(moved: Map<Resource, number>, resources: readonly Resource[]): void {
  for (const resource of resources) if (!moved.has(resource)) moved.set(resource, unknownVersion);
}

/**
 * An instance of version 1.1.0 that was killed counts as running for this time, because its clock may be behind. A
 * clean shutdown of 1.1.0 sets `seen_at` to 0.
 */
const formerRunningMs = 300_000;

/** Versions of a server's data, and the server's identity. */
export interface ServerState {
  readonly versions: Versions;
  /** Id of the store. */
  readonly store: string | null;
  /** The last mark of the primary (`lineage.ts`). Replicas receive it by replication. */
  readonly lineage: string | null;
  /** Start time of this server. */
  readonly started: string;
  readonly isStandby: boolean;
  /** Whether commits wait for a synchronous standby. */
  readonly hasSynchronousStandby: boolean;
  /** Whether instances of version 1.1.0 may be running (`groups/statement.ts`). */
  readonly hasFormerInstances: boolean;
  /** Time of the server's clock when it read the state (Unix ms). */
  readonly now: number;
  /** The sum of all steps of the server's clock, in ms (`server-clock.ts`). */
  readonly clockSteps: number;
}

interface StateRow extends Omit<ServerState, 'versions' | 'now' | 'clockSteps'> {
  readonly now: bigint;
  readonly clockSteps: bigint | null;
  readonly name: string;
  readonly version: bigint;
}

export async function readState({ run }: Runner): Promise<ServerState> {
  const rows = await run(
    (sql): SQL.Query<StateRow[]> => sql`
      SELECT name, version, store.id AS store, lineage,
             extract(epoch FROM pg_postmaster_start_time())::text AS started, pg_is_in_recovery() AS "isStandby",
             current_setting('synchronous_standby_names') <> '' AS "hasSynchronousStandby",
             EXISTS (
               SELECT FROM former_instances JOIN instances USING (name, started_at)
               WHERE seen_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ${formerRunningMs}::bigint
             ) AS "hasFormerInstances",
             (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, clock_steps_ms AS "clockSteps"
      FROM counters LEFT JOIN store ON true`,
  );
  const versions = new Map(rows.map(({ name, version }) => [name, Number(version)]));
  const { store = null, lineage = null, started = '', now = 0n } = rows[0] ?? {};
  const {
    isStandby = false,
    hasSynchronousStandby = true,
    hasFormerInstances = false,
    clockSteps,
  } = rows[0] ?? {};
  return {
    ...{ store, lineage, started, isStandby, hasSynchronousStandby, hasFormerInstances },
    ...{ now: Number(now), clockSteps: Number(clockSteps ?? 0n) },
    versions: mapVersions((resource) => versions.get(versionCounter(resource)) ?? 0),
  };
}
