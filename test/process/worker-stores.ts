import { afterAll, beforeAll, test } from 'bun:test';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type Running, serveCommand, start } from '../support/process.ts';
import type { BeginDrained } from './drain.ts';

/** PostgreSQL and Redis with an operator, where services with workers can be started. */
export interface WorkerStores extends Omit<Cluster, 'instances'> {
  /** Starts two workers for a test that stops them. */
  readonly beginDrained: BeginDrained;
  /** Starts two workers, and does not wait until they serve. */
  begin(environment?: Readonly<Record<string, string>>): Running;
}

type WorkersTest = (name: string, body: (stores: WorkerStores) => Promise<void>) => void;

/** Tests of a file that start services with two workers, unless they say otherwise. */
export function workersTests(define: typeof test = test): WorkersTest {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster({ instances: 0, environment: { WORKERS: '2' } });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());
  return (name, body) =>
    define(name, async () => {
      // Told once, when the servers were looked for.
      if (cluster === undefined) return;
      const { postgres, redis, startInstance, issueKey } = cluster;
      const settings = { PORT: '0', DATABASE_URL: postgres.url, REDIS_URL: redis.url, WORKERS: '2' };
      const begin = (environment = {}) =>
        start(serveCommand, { environment: { ...settings, DRAIN_SECONDS: '0', ...environment } });
      const beginDrained: BeginDrained = async (environment) => {
        const service = await startInstance(environment);
        const { key } = await issueKey();
        return { service, key, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
      };
      await body({ ...cluster, begin, beginDrained });
    });
}
