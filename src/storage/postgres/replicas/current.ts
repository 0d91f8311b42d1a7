import type { SQL } from 'bun';
import type { Resource } from '../../../domain/resources.ts';
import type { Statement } from '../statements.ts';
import { versionCounter } from '../versions.ts';

interface CurrentRow {
  readonly is_current: boolean | null;
}

/**
 * Checks that a server is a replica of the primary with this mark (`lineage.ts`), and that it has this version of the data or a
 * later one. Runs before the query in the same session, so that the query sees at least this data. An earlier check is
 * not sufficient, because an address may resolve to several servers, and a server may restart with older data after a
 * crash.
 */
export function whetherCurrent(
  resource: Resource,
  version: number,
  lineage: string,
): Statement<CurrentRow[]> {
  return (sql: SQL): SQL.Query<CurrentRow[]> => sql`
    SELECT version >= ${BigInt(version)}::bigint AND lineage = ${lineage}::text AND pg_is_in_recovery()
           AS is_current
    FROM counters, store WHERE name = ${versionCounter(resource)}::text`;
}

export const isCurrent = ([row]: readonly CurrentRow[]): boolean => row?.is_current === true;
