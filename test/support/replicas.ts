/** Instances that read from replicas. */

import { SQL } from 'bun';
import { createOperator } from '../../src/operations/admin/operators.ts';
import { type Client, clientOf, type Reply } from './client.ts';
import type { Cluster } from './cluster.ts';
import { consoleOf, type Service } from './process.ts';
import { samplesIn } from './prometheus.ts';
import type { OwnServer } from './server-process.ts';
import { until } from './wait.ts';

/** An instance that reads from replicas, and its metrics. */
interface ReadingInstance extends Service {
  readonly client: Client;
  /** Number of reads that this server has served. `server` is a name from `nameOf`. */
  reads(server: string): Promise<number>;
  isUsed(server: string): Promise<boolean>;
  lagSeconds(server: string): Promise<number>;
}

/** Runs a statement on a server over a separate connection. */
export async function runOn(server: OwnServer, statement: string): Promise<Record<string, unknown>[]> {
  await using sql = new SQL(server.url, { max: 1 });
  return await sql.unsafe(statement);
}

/** The name of a server in the metrics and in the log. */
export const nameOf = ({ url }: OwnServer) => new URL(url).host + new URL(url).pathname;

/** Starts an instance that reads from the given replicas. */
export async function instanceOf(
  cluster: Cluster,
  urls: readonly string[],
  environment: Record<string, string> = {},
): Promise<ReadingInstance> {
  const { token } = await createOperator(cluster.operator, `metrics ${crypto.randomUUID()}`, 'viewer');
  const { key } = await cluster.issueKey();
  const service = await cluster.startInstance({
    DATABASE_REPLICA_URLS: urls.join(','),
    ADMIN_PORT: '0',
    ...environment,
  });
  const console = await consoleOf(service);
  const sample = async (name: string) => {
    const response = await fetch(`${console}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
    return samplesIn(await response.text()).get(`animal_store_${name}`) ?? Number.NaN;
  };
  return {
    ...service,
    client: clientOf(service.url, key),
    reads: (server) => sample(`replicable_reads_total{server="${server}"}`),
    isUsed: async (server) => (await sample(`replica_in_use{server="${server}"}`)) === 1,
    lagSeconds: (server) => sample(`replica_lag_seconds{server="${server}"}`),
  };
}

let pages = 0;

/** Target of a list of all animals, starting at an id. The query is unique, so that the page is not cached. */
export const uncached = (from = 1n) => `/pets?minId=${from}&maxId=${2n ** 60n + BigInt(pages++)}&limit=100`;

/** Reads pages until this server has served some reads. */
export async function untilUsed({ client, reads }: ReadingInstance, server: string): Promise<void> {
  const before = await reads(server);
  await until(async () => {
    await client.get(uncached());
    return (await reads(server)) > before + 3;
  });
}

export const idOf = ({ text }: Reply) => (JSON.parse(text) as { id: number }).id;
