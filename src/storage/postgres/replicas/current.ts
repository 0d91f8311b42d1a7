import type { SQL } from 'bun';
import type { Resource } from '../../../domain/resources.ts';
import type { Statement } from '../statements.ts';
import { versionCounter } from '../versions.ts';

interface CurrentRow {
  readonly is_current: boolean | null;
}

/**
 * Whether a server is a replica of the primary since that start, with data of this version or a later one. It precedes
 * a query in the same session, which sees at least the same data. Earlier knowledge of the replica is not sufficient:
 * an address may lead to several servers, and a server may return from a crash with older data.
 */
export function whetherCurrent(
  resource: Resource,
  version: number,
  primaryStarted: string,
): Statement<CurrentRow[]> {
  return (sql: SQL): SQL.Query<CurrentRow[]> => sql`
    SELECT version >= ${BigInt(version)}::bigint AND primary_started = ${primaryStarted}::text AND pg_is_in_recovery()
           AS is_current
    FROM counters, store WHERE name = ${versionCounter(resource)}::text`;
}

export const isCurrent = ([row]: readonly CurrentRow[]): boolean => row?.is_current === true;
