/**
 * Checks all guarantees while some or all instances are disconnected from PostgreSQL or Redis, or have slow
 * connections.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { RedisClient } from 'bun';
import { troubles } from '../../src/domain/troubles.ts';
import { liftBan } from '../../src/operations/admin/bans.ts';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { allNames, load, readiness, untilAll } from '../support/load.ts';
import type { Service } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';
import { Refused } from './partitions-refused.ts';
import { Staleness } from './partitions-staleness.ts';
import { openOrThrow, type StressOptions, type StressResult, type StressTest } from './stress-test.ts';

const instances = 3;
const recoveryMs = 20_000;
/**
 * Each fault has two phases. In the first, one instance adds animals, and all instances are checked for stale data. The
 * second runs under load.
 */
const watchedMs = 3_000;
const loadedMs = { from: 200, to: 2_000 } as const;
const delaysMs = [60, 200, 2_000] as const;

/** An instance that connects to its servers through dedicated proxies. */
interface Proxied {
  readonly service: Service;
  readonly redis: TcpProxy;
  readonly postgres: TcpProxy;
}

interface Fault {
  readonly name: string;
  /** Whether /readyz must report this problem when the fault ends. If undefined, /readyz is not checked. */
  readonly says?: { readonly trouble: string; readonly is: boolean };
  /** Injects the fault into one or all instances. */
  readonly begin: (hit: Proxied, all: readonly Proxied[], emptied: () => Promise<void>) => Promise<void>;
}

const servers = ['redis', 'postgres'] as const;

const faults: readonly Fault[] = [
  ...servers.flatMap((server): Fault[] => {
    const trouble = troubles[server];
    const away = { trouble, is: true };
    return [
      { name: `${server} cut`, says: away, begin: (hit) => hit[server].cut() },
      { name: `${server} silent`, says: away, begin: async (hit) => hit[server].hold() },
      { name: `${server} does not answer`, says: away, begin: async (hit) => hit[server].hold('answers') },
      ...delaysMs.map((ms) => ({
        name: `${server} ${ms} ms away`,
        // With a delay of 60 or 200 ms, Redis may or may not be reported as unavailable.
        ...((ms >= 2_000 || server === 'postgres') && { says: { trouble, is: ms >= 2_000 } }),
        begin: async (hit: Proxied) => hit[server].delay(ms),
      })),
    ];
  }),
  { name: 'redis in blips of 70 ms', begin: async ({ redis }) => void blips(redis) },
  ...delaysMs.map((ms) => ({
    name: `redis emptied, postgres ${ms} ms away`,
    begin: async (_hit: Proxied, all: readonly Proxied[], emptied: () => Promise<void>) => {
      for (const { postgres } of all) postgres.delay(ms);
      await emptied();
    },
  })),
];

async function blips(redis: TcpProxy): Promise<void> {
  for (let blip = 0; blip < watchedMs / 350; blip++) {
    redis.hold();
    await sleep(70);
    await redis.heal();
    await sleep(280);
  }
}

async function proxied(cluster: Cluster, made: AsyncDisposableStack): Promise<Proxied> {
  const redis = made.use(await tcpProxy(cluster.redis.url));
  const postgres = made.use(await tcpProxy(cluster.postgres.url));
  const service = await cluster.startInstance({
    REDIS_URL: redis.url,
    DATABASE_URL: postgres.url,
    REDIS_TIMEOUT_MS: '50',
    LOG_LEVEL: 'warn',
  });
  return { service, redis, postgres };
}

/** Results that clients observed, summed over all rounds. */
class Tally {
  readonly acknowledged: string[] = [];
  unavailable = 0;
  slowestMs = 0;

  /** Throws if the fault cannot explain one of the responses. */
  add(fault: string, replies: readonly Reply[]): void {
    for (const { status, text, tookMs } of replies) {
      this.slowestMs = Math.max(this.slowestMs, Math.round(tookMs));
      if (status === 201) this.acknowledged.push((JSON.parse(text) as { name: string }).name);
      else if (status === 503) this.unavailable++;
      else throw new Error(`${fault}: a create request returned ${status} ${text}`);
    }
  }
}

async function run({ rounds, seed, progress }: StressOptions): Promise<StressResult> {
  await using made = new AsyncDisposableStack();
  const environment = { BAN_STRIKES: '3', BAN_FIRST_SECONDS: '3600' };
  const cluster = made.use(await openOrThrow(() => startCluster({ instances: 0, environment })));
  const all = await Promise.all(Array.from({ length: instances }, () => proxied(cluster, made)));
  const { key } = await cluster.issueKey();
  const clients = all.map(({ service }) => clientOf(service.url, key));
  const refused = await Refused.prepare(cluster, all[0]?.service.url ?? '', rounds);
  const urls = all.map(({ service }) => service.url);
  const { operator } = cluster;
  const staleness = new Staleness(urls, key);
  const random = randomFrom(seed);
  const admin = new RedisClient(cluster.redis.url);
  made.defer(() => admin.close());
  const emptied = async () => {
    await admin.send('FLUSHALL', []);
  };
  const tally = new Tally();
  for (let round = 0; round < rounds; round++) {
    const { name, says, begin } = faults[round % faults.length] as Fault;
    const hit = all[Math.floor(random() * all.length)] as Proxied;
    const banned = refused.toLift();
    const revoked = await cluster.issueKey();
    for (const url of urls) await clientOf(url, revoked.key).get('/pets?limit=1');
    await begin(hit, all, emptied);
    staleness.watch(hit.service.url);
    const isBanned = ({ text }: Reply) => text.includes('api_key_banned');
    const revoke = () => operator.keys.revoke(revoked.keyId);
    await Promise.all([
      sleep(watchedMs),
      refused.check(name, urls),
      staleness.changed(`${name}: a revocation`, revoked.key, revoke, ({ status }) => status === 200),
      staleness.changed(`${name}: a lift`, banned.key, () => liftBan(operator, banned.keyId), isBanned),
    ]);
    const { trouble = [] } = await readiness(hit.service.url);
    if (says !== undefined && trouble.includes(says.trouble) !== says.is)
      throw new Error(`${name}: /readyz reports ${trouble.join() || 'no trouble'}.`);
    await staleness.rest(name);
    const adding = load(6, (number) => (clients[number % instances] as Client).add(`${round}-${number}`));
    await sleep(loadedMs.from + random() * (loadedMs.to - loadedMs.from));
    for (const { redis, postgres } of all) await Promise.all([redis.heal(), postgres.heal()]);
    await untilAll(urls, 'ready', recoveryMs);
    await refused.check(`after ${name}`, urls);
    tally.add(name, await adding.stop());
    progress(`${round + 1} faults, ${tally.acknowledged.length} acknowledged, ${staleness.summary()}`);
  }
  const there = new Set(await allNames(clients[0] as Client));
  const lost = tally.acknowledged.filter((one) => !there.has(one)).length;
  if (lost > 0) throw new Error(`${lost} acknowledged animals were lost.`);
  return {
    faults: rounds,
    acknowledged: tally.acknowledged.length,
    lost,
    'create requests rejected with 503': tally.unavailable,
    'slowest create request in ms': tally.slowestMs,
    ...refused.figures(),
    ...staleness.figures(),
  };
}

export const partitions: StressTest = {
  name: 'partitions',
  promise:
    'while instances are cut off from Redis or PostgreSQL, or 60, 200 and 2,000 ms away, or Redis is emptied while ' +
    'PostgreSQL is slow, no acknowledged write is lost, every new animal, revocation and ban removal reaches all instances within a ' +
    'second, no ban and no exhausted quota is lost, no response is a 500, and /readyz reports the problem',
  rounds: 48,
  run,
};
