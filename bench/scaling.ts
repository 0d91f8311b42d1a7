/** Measures the speedup with additional instances: one, two and three instances on one store (PostgreSQL and Redis). */
import { RedisClient } from 'bun';
import { type ClusterStore, forgetLimits } from './cluster.ts';
import { type JoinedLoad, joinLoads, loads, share, warmUpSeconds, writePlans } from './joined-load.ts';
import { applyLoad, connections, planPath } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import { animalCount, type Options } from './options.ts';
import type { ServerProcess } from './server-process.ts';
import { createAddressing, fill, issueKeys, startService } from './service.ts';
import { limitCpuShare } from './share.ts';
import { progress } from './terminal.ts';

const instanceCounts = [1, 2, 3];

/** A concurrent load on several instances. */
export interface ScalingSample extends JoinedLoad {
  readonly scenario: string;
  readonly instances: number;
  readonly round: number;
  /** CPU time of Redis per request. */
  readonly redisMicrosecondsPerRequest: number;
}

export interface ScalingResults extends Conditions {
  /** Number of connections to each instance. */
  readonly connections: number;
  readonly share: number;
  readonly samples: readonly ScalingSample[];
}

export async function measureScaling(options: Options, folder: string): Promise<ScalingResults> {
  const { cluster, rounds, seconds } = options;
  if (cluster === undefined) throw new Error('Measuring several instances requires --postgres and --redis.');
  await using servers = new AsyncDisposableStack();
  servers.defer(() => forgetLimits(cluster));
  progress(`adding ${animalCount.toLocaleString('en')} animals`);
  await fill(cluster, animalCount);
  const [key = ''] = await issueKeys(cluster, 1);
  await writePlans(folder, createAddressing(key), seconds);
  const instances = await startInstances(cluster, key, servers);
  const redis = new RedisClient(cluster.REDIS_URL);
  servers.defer(() => redis.close());

  const samples: ScalingSample[] = [];
  for (const load of loads) await run(instances, load, folder, warmUpSeconds, redis);
  for (let round = 1; round <= rounds; round++) {
    for (const load of loads) {
      for (const count of instanceCounts) {
        const figures = await run(instances.slice(0, count), load, folder, seconds, redis);
        samples.push({ scenario: load, instances: count, round, ...figures });
        const rate = Math.round(figures.requestsPerSecond).toLocaleString('en');
        progress(`round ${round} of ${rounds}  ${load.padEnd(6)} ${count} instances  ${rate}/s`);
      }
    }
  }
  return {
    ...readConditions(options, folder),
    connections,
    share,
    samples,
  };
}

/** Starts instances, each limited to a fraction of a core. */
async function startInstances(
  store: ClusterStore,
  key: string,
  servers: AsyncDisposableStack,
): Promise<ServerProcess[]> {
  const instances: ServerProcess[] = [];
  for (let index = 0; index < Math.max(...instanceCounts); index++) {
    progress(`starting instance ${index + 1}`);
    const instance = await startService(store, key);
    try {
      // Disposed in reverse order: first the process, then its control group.
      servers.use(limitCpuShare([instance.pid], share));
    } finally {
      servers.use(instance);
    }
    instances.push(instance);
  }
  return instances;
}

async function run(
  instances: readonly ServerProcess[],
  load: string,
  folder: string,
  seconds: number,
  redis: RedisClient,
): Promise<Omit<ScalingSample, 'scenario' | 'instances' | 'round'>> {
  const cpuSeconds = () => instances.reduce((sum, instance) => sum + instance.usage().cpuSeconds, 0);
  const [before, redisBefore] = [cpuSeconds(), await redisCpuSeconds(redis)];
  const results = await Promise.all(
    instances.map(({ url }) => applyLoad(url, planPath(folder, load), seconds)),
  );
  const [used, redisUsed] = [cpuSeconds() - before, (await redisCpuSeconds(redis)) - redisBefore];
  const joined = joinLoads(results, used);
  return { ...joined, redisMicrosecondsPerRequest: (redisUsed * 1_000_000) / joined.requests };
}

async function redisCpuSeconds(redis: RedisClient): Promise<number> {
  const info = String(await redis.send('INFO', ['cpu']));
  const field = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]);
  return field('used_cpu_user') + field('used_cpu_sys');
}
