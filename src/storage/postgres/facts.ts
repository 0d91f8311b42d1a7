import type { SQL } from 'bun';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { StoreFacts } from '../admin.ts';
import type { PostgresDatabase } from './database.ts';
import { newestFormat } from './migration-steps.ts';

interface ServerRow {
  readonly version: string;
  readonly bytes: bigint;
}

const queryServer = (sql: SQL): SQL.Query<ServerRow[]> => sql`
  SELECT current_setting('server_version') AS version,
         (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
          WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r') AS bytes`;

/** Returns information about the database. If the server does not respond, its version and size are null. */
export async function readFacts(database: PostgresDatabase): Promise<StoreFacts> {
  const [server] = await database.read(queryServer).catch((error) => {
    if (error instanceof StorageUnavailable) return [];
    throw error;
  });
  const { connections, busy, waiting, roundTrips } = database.poolFacts;
  return {
    format: newestFormat,
    postgresVersion: server?.version ?? null,
    postgresTrouble: database.trouble ?? null,
    dataBytes: server === undefined ? null : Number(server.bytes),
    poolConnections: connections,
    poolBusy: busy,
    poolWaiting: waiting,
    postgresStatements: roundTrips.count,
    postgresSeconds: roundTrips.seconds,
  };
}
