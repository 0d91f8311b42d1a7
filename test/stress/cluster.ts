import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { clusterPlaceOn } from '../storage/cluster-place.ts';
import { type Client, clientOf } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { allNames, load, readiness } from '../support/load.ts';
import { type TestServers, testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { countedWindow } from '../support/windows.ts';
import { clusterFreshness } from './cluster-freshness.ts';
import { limitsTest } from './limits.ts';
import { clusterRefusals } from './refusals.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const recoveryMs = 5_000;

async function servers(): Promise<TestServers> {
  const there = await testServers();
  if (there === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  return there;
}

async function instances(count: number, environment: Record<string, string>): Promise<Cluster> {
  const cluster = await startCluster({ instances: count, environment });
  if (cluster === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  return cluster;
}

const clientsOf = (cluster: Cluster, key: string): Client[] =>
  cluster.instances.map(({ url }) => clientOf(url, key));

const clusterLimits: StressTest = limitsTest('cluster-limits', 'Redis', async (clock, rules) => {
  await using made = new AsyncDisposableStack();
  const there = made.use(await servers());
  const place = made.use(await clusterPlaceOn(there)(clock, rules));
  const kept = made.move();
  return { ...place, [Symbol.asyncDispose]: () => kept.disposeAsync() };
});

const clusterWindows: StressTest = {
  name: 'cluster-windows',
  promise: 'three instances admit exactly the limit in each window, and show each value of Remaining once',
  rounds: 200,
  async run({ rounds, progress }) {
    await using cluster = await instances(3, { REDIS_TIMEOUT_MS: '5000' });
    let admitted = 0;
    for (let round = 0; round < rounds; round++) {
      const limit = 100 + round;
      const { key } = await cluster.issueKey({ perMinute: limit, perDay: 1_000_000 });
      const remaining = await countedWindow(clientsOf(cluster, key), limit);
      const wrong = remaining.findIndex((value, index) => value !== index);
      if (remaining.length !== limit || wrong >= 0) {
        throw new Error(
          `Window ${round}: ${remaining.length} of ${limit} admitted, Remaining wrong at ${wrong}.`,
        );
      }
      admitted += remaining.length;
      progress(`${round + 1} windows`);
    }
    return { windows: rounds, admitted, 'admitted over or under the limit': 0 };
  },
};

const faults = ['stopped', 'killed', 'frozen'] as const;

/** Adds animals while servers go and come back, and looks for them afterwards. */
async function drill({ rounds, seed, progress }: StressOptions): Promise<Figures> {
  await using cluster = await instances(2, { POSTGRES_TIMEOUT_MS: '500' });
  const clients = clientsOf(cluster, (await cluster.issueKey()).key) as [Client, Client];
  const choices = fc.sample(
    fc.record({
      server: fc.constantFrom('postgres' as const, 'redis' as const),
      fault: fc.constantFrom(...faults),
      ms: fc.integer({ min: 50, max: 1_500 }),
    }),
    { numRuns: rounds, seed: seed | 0 },
  );
  const acknowledged: string[] = [];
  const tally = {
    acknowledged: 0,
    'answered 503': 0,
    'slowest answer in ms': 0,
    'slowest recovery in ms': 0,
  };
  for (const [round, { server, fault, ms }] of choices.entries()) {
    const adding = load(16, (number) => (clients[number % 2] as Client).add(`${round}-${number}`));
    await sleep(200);
    await away(cluster, server, fault, ms);
    const back = await until(async () => {
      const said = await Promise.all(cluster.instances.map(({ url }) => readiness(url)));
      return said.every((answer) => answer.status === 'ready');
    }, recoveryMs);
    const replies = await adding.stop();
    const failed = replies.filter(({ status }) => status !== 201);
    if (failed.some(({ status }) => status !== 503) || (server === 'redis' && failed.length > 0)) {
      throw new Error(`${server} ${fault} for ${ms} ms: ${failed[0]?.status} ${failed[0]?.text}`);
    }
    for (const { status, text } of replies) if (status === 201) acknowledged.push(JSON.parse(text).name);
    tally.acknowledged = acknowledged.length;
    tally['answered 503'] += failed.length;
    const slowest = Math.max(...replies.map(({ tookMs }) => tookMs));
    tally['slowest answer in ms'] = Math.round(Math.max(tally['slowest answer in ms'], slowest));
    tally['slowest recovery in ms'] = Math.round(Math.max(tally['slowest recovery in ms'], back));
    progress(`${round + 1} drills`);
  }
  const there = new Set(await allNames(clients[0]));
  const lost = acknowledged.filter((name) => !there.has(name)).length;
  if (lost > 0) throw new Error(`${lost} acknowledged animals are lost.`);
  return { ...tally, lost, 'unanswered requests': 0 };
}

async function away(
  cluster: Cluster,
  server: 'postgres' | 'redis',
  fault: (typeof faults)[number],
  ms: number,
): Promise<void> {
  const its = cluster[server];
  if (fault === 'frozen') await its.freeze();
  else await its.stop(fault === 'killed' ? 'SIGKILL' : 'SIGTERM');
  await sleep(ms);
  if (fault === 'frozen') await its.thaw();
  else await its.start();
}

const clusterFaults: StressTest = {
  name: 'cluster-faults',
  promise:
    'PostgreSQL and Redis stop, are killed and freeze: no acknowledged animal is lost, no request hangs',
  rounds: 60,
  run: drill,
};

/** The tests of the store of several instances; they need PostgreSQL and Redis on the machine. */
export const clusterTests: readonly StressTest[] = [
  clusterLimits,
  clusterWindows,
  clusterFaults,
  clusterFreshness,
  clusterRefusals,
];
