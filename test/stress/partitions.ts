/** One instance, or all, cut off from their servers or far from them: what is promised holds all the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisClient } from 'bun';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { allNames, load, readiness } from '../support/load.ts';
import type { Service } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';
import { Refused } from './partitions-refused.ts';
import { Staleness } from './partitions-staleness.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const instances = 3;
const recoveryMs = 20_000;
/** How long a fault lasts, first while one instance adds and all are watched, then under load. */
const watchedMs = 3_000;
const loadedMs = { from: 200, to: 2_000 } as const;
const delaysMs = [60, 200, 2_000] as const;

/** An instance behind proxies of its own. */
interface Proxied {
  readonly service: Service;
  readonly redis: TcpProxy;
  readonly postgres: TcpProxy;
}

interface Fault {
  readonly name: string;
  /** Some of the instances are hit, or all. */
  readonly begin: (hit: Proxied, all: readonly Proxied[], emptied: () => Promise<void>) => Promise<void>;
}

const servers = ['redis', 'postgres'] as const;

const faults: readonly Fault[] = [
  ...servers.flatMap((server): Fault[] => [
    { name: `${server} cut`, begin: (hit) => hit[server].cut() },
    { name: `${server} silent`, begin: async (hit) => hit[server].hold() },
    { name: `${server} does not answer`, begin: async (hit) => hit[server].hold('answers') },
    ...delaysMs.map((ms) => ({
      name: `${server} ${ms} ms away`,
      begin: async (hit: Proxied) => hit[server].delay(ms),
    })),
  ]),
  ...delaysMs.map((ms) => ({
    name: `redis emptied, postgres ${ms} ms away`,
    begin: async (_hit: Proxied, all: readonly Proxied[], emptied: () => Promise<void>) => {
      for (const { postgres } of all) postgres.delay(ms);
      await emptied();
    },
  })),
];

async function proxied(cluster: Cluster, made: AsyncDisposableStack): Promise<Proxied> {
  const redis = made.use(await tcpProxy(cluster.redis.url));
  const postgres = made.use(await tcpProxy(cluster.postgres.url));
  const service = await cluster.startInstance({
    REDIS_URL: redis.url,
    DATABASE_URL: postgres.url,
    LOG_LEVEL: 'warn',
  });
  return { service, redis, postgres };
}

/** What clients saw, summed up over all rounds. */
class Tally {
  readonly acknowledged: string[] = [];
  unavailable = 0;
  slowestMs = 0;

  /** Throws for an answer that no fault excuses. */
  add(fault: string, replies: readonly Reply[]): void {
    for (const { status, text, tookMs } of replies) {
      this.slowestMs = Math.max(this.slowestMs, Math.round(tookMs));
      if (status === 201) this.acknowledged.push((JSON.parse(text) as { name: string }).name);
      else if (status === 503) this.unavailable++;
      else throw new Error(`${fault}: a creation was answered ${status} ${text}`);
    }
  }
}

async function run({ rounds, seed, progress }: StressOptions): Promise<Figures> {
  await using made = new AsyncDisposableStack();
  const environment = { BAN_STRIKES: '3', BAN_FIRST_SECONDS: '3600' };
  const cluster = made.use(await startCluster({ instances: 0, environment }));
  if (!cluster) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  const all = await Promise.all(Array.from({ length: instances }, () => proxied(cluster, made)));
  const { key } = await cluster.issueKey();
  const clients = all.map(({ service }) => clientOf(service.url, key));
  const refused = await Refused.prepare(cluster, all[0]?.service.url ?? '');
  const urls = all.map(({ service }) => service.url);
  const staleness = new Staleness(urls, key);
  const random = randomFrom(seed);
  const admin = new RedisClient(cluster.redis.url);
  made.defer(() => admin.close());
  const emptied = async () => {
    await admin.send('FLUSHALL', []);
  };
  const tally = new Tally();
  for (let round = 0; round < rounds; round++) {
    const { name, begin } = faults[round % faults.length] as Fault;
    const hit = all[Math.floor(random() * all.length)] as Proxied;
    await begin(hit, all, emptied);
    staleness.watch(hit.service.url);
    await Promise.all([sleep(watchedMs), refused.check(name, urls)]);
    await staleness.rest(name);
    const adding = load(6, (number) => (clients[number % instances] as Client).add(`${round}-${number}`));
    await sleep(loadedMs.from + random() * (loadedMs.to - loadedMs.from));
    for (const { redis, postgres } of all) await Promise.all([redis.heal(), postgres.heal()]);
    await until(() => allReady(urls), recoveryMs);
    await refused.check(`after ${name}`, urls);
    tally.add(name, await adding.stop());
    progress(`${round + 1} faults, ${tally.acknowledged.length} acknowledged, ${staleness.summary()}`);
  }
  const there = new Set(await allNames(clients[0] as Client));
  const lost = tally.acknowledged.filter((one) => !there.has(one)).length;
  if (lost > 0) throw new Error(`${lost} acknowledged animals are lost.`);
  return {
    faults: rounds,
    acknowledged: tally.acknowledged.length,
    lost,
    'creations answered 503': tally.unavailable,
    'slowest creation in ms': tally.slowestMs,
    ...refused.figures(),
    ...staleness.figures(),
  };
}

async function allReady(urls: readonly string[]): Promise<boolean> {
  const said = await Promise.all(urls.map((url) => readiness(url)));
  return said.every(({ status }) => status === 'ready');
}

export const partitions: StressTest = {
  name: 'partitions',
  promise:
    'instances are cut off from Redis or PostgreSQL, or 60, 200 and 2,000 ms away, and Redis is emptied while ' +
    'PostgreSQL is slow: nothing acknowledged is lost, no ban and no exhausted day is forgotten, nothing is answered 500',
  rounds: 45,
  run,
};
