/** Measures the speedup with additional instances: one, two and three instances on one store (PostgreSQL and Redis). */
import { RedisClient } from 'bun';
import { type ClusterStore, forgetLimits } from './cluster.ts';
import { applyLoad, planPath } from './load.ts';
import { animalCount, type Options } from './options.ts';
import type { ServerProcess } from './server-process.ts';
import { createAddressing, fill, issueKeys, startService } from './service.ts';
import { limitCpuShare } from './share.ts';
import {
  formatSpeedup,
  gainGoal,
  type JoinedLoad,
  joinLoads,
  measureSpeedup,
  share,
  writePlans,
} from './speedup.ts';
import { median } from './statistics.ts';
import { progress } from './terminal.ts';

const instanceCounts = [1, 2, 3];

const minGain = 1.7;

interface ScalingLoad extends JoinedLoad {
  /** CPU time of Redis per request. */
  readonly redisMicrosecondsPerRequest: number;
}

export async function measureScaling(options: Options, folder: string) {
  const { cluster, seconds } = options;
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
  const counts = { counts: instanceCounts, warmUp: [instances.length] };
  return await measureSpeedup(options, folder, counts, (count, load, seconds) =>
    run(instances.slice(0, count), planPath(folder, load), seconds, redis),
  );
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
  plan: string,
  seconds: number,
  redis: RedisClient,
): Promise<ScalingLoad> {
  const cpuSeconds = () => instances.reduce((sum, instance) => sum + instance.usage().cpuSeconds, 0);
  const [before, redisBefore] = [cpuSeconds(), await redisCpuSeconds(redis)];
  const results = await Promise.all(instances.map(({ url }) => applyLoad(url, plan, seconds)));
  const [used, redisUsed] = [cpuSeconds() - before, (await redisCpuSeconds(redis)) - redisBefore];
  const joined = joinLoads(results, used);
  return { ...joined, redisMicrosecondsPerRequest: (redisUsed * 1_000_000) / joined.requests };
}

async function redisCpuSeconds(redis: RedisClient): Promise<number> {
  const info = String(await redis.send('INFO', ['cpu']));
  const field = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]);
  return field('used_cpu_user') + field('used_cpu_sys');
}

export function scalingMarkdown(results: Awaited<ReturnType<typeof measureScaling>>): string {
  const redis = (those: readonly ScalingLoad[]) =>
    median(those.map(({ redisMicrosecondsPerRequest }) => redisMicrosecondsPerRequest)).toFixed(1);
  return formatSpeedup(results, {
    unit: 'instance',
    goals: [gainGoal(results.samples, 'list', 'instance', minGain)],
    column: ['Redis CPU µs/request', redis],
  });
}
