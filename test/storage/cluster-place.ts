import { afterAll } from 'bun:test';
import type { ClusterSettings } from '../../src/storage/cluster.ts';
import { openStorage } from '../../src/storage/open.ts';
import { openStore } from '../../src/store.ts';
import { type TestServers, testServers } from '../support/servers.ts';
import type { MakePlace } from './place.ts';

/** How tests wait for servers: longer than a service does, for machines that run many tests at once stall. */
export const patient: Omit<ClusterSettings, 'redisUrl' | 'redisPrefix'> = {
  redisTimeoutMs: 5_000,
  poolSize: 4,
  statementTimeoutMs: 10_000,
};

/** Places on PostgreSQL and Redis, each in a schema and under a prefix of its own. */
export function clusterPlaceOn(servers: TestServers): MakePlace {
  return async (clock, rules) => {
    const schema = await servers.makeSchema();
    const cluster = { ...patient, redisUrl: servers.redisUrl, redisPrefix: servers.makePrefix() };
    const options = { url: schema.url, clock, rules, create: true, cluster };
    return {
      open: (serving) => openStore({ ...options, serving }),
      openWith: (units) => openStorage({ ...options, serving: false, units }),
      [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
    };
  };
}

/** The stores on PostgreSQL and Redis, by their name; none when this machine has no servers. */
export async function clusterPlaces(): Promise<Record<string, MakePlace>> {
  const servers = await testServers();
  if (servers === undefined) return {};
  afterAll(() => servers[Symbol.asyncDispose]());
  return { 'PostgreSQL and Redis': clusterPlaceOn(servers) };
}
