import { setTimeout as sleep } from 'node:timers/promises';
import { troubles } from '../../src/domain/trouble.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';

/** How long a fault lasts. */
export const faultMs = 5_000;

/** An instance that reaches its servers through proxies, and one that does not. */
export interface Pair {
  readonly cluster: Cluster;
  readonly urls: { readonly near: string; readonly far: string };
  readonly redis: TcpProxy;
  readonly postgres: TcpProxy;
}

export interface Fault {
  readonly name: string;
  /** What the far instance has to say on /readyz of the server while it lasts; undefined where both may be true. */
  readonly says?: { readonly trouble: string; readonly is: boolean };
  /** Begins it; resolves when it needs nothing more, which may be its end. */
  begin(pair: Pair): Promise<void>;
}

export const faults: readonly Fault[] = [
  { name: 'Redis cut', says: { trouble: troubles.redis, is: true }, begin: ({ redis }) => redis.cut() },
  {
    name: 'Redis silent',
    says: { trouble: troubles.redis, is: true },
    begin: async ({ redis }) => redis.hold(),
  },
  { name: 'Redis 60 ms away', begin: async ({ redis }) => redis.delay(60) },
  { name: 'Redis 200 ms away', begin: async ({ redis }) => redis.delay(200) },
  {
    name: 'Redis 2,000 ms away',
    says: { trouble: troubles.redis, is: true },
    begin: async ({ redis }) => redis.delay(2_000),
  },
  { name: 'Redis in blips of 70 ms', begin: ({ redis }) => blips(redis) },
  {
    name: 'PostgreSQL cut',
    says: { trouble: troubles.postgres, is: true },
    begin: ({ postgres }) => postgres.cut(),
  },
  {
    name: 'PostgreSQL silent',
    says: { trouble: troubles.postgres, is: true },
    begin: async ({ postgres }) => postgres.hold(),
  },
  {
    name: 'PostgreSQL 60 ms away',
    says: { trouble: troubles.postgres, is: false },
    begin: async ({ postgres }) => postgres.delay(60),
  },
  {
    name: 'PostgreSQL 200 ms away',
    says: { trouble: troubles.postgres, is: false },
    begin: async ({ postgres }) => postgres.delay(200),
  },
  {
    name: 'PostgreSQL 2,000 ms away',
    says: { trouble: troubles.postgres, is: true },
    begin: async ({ postgres }) => postgres.delay(2_000),
  },
];

async function blips(redis: TcpProxy): Promise<void> {
  for (let blip = 0; blip < faultMs / 350; blip++) {
    redis.hold();
    await sleep(70);
    await redis.heal();
    await sleep(280);
  }
}

/** Starts both, with servers of their own. */
export async function startPair(): Promise<Pair & AsyncDisposable> {
  await using made = new AsyncDisposableStack();
  // The operator and the near one must not take a busy machine for a lost Redis.
  const cluster = made.use(await startCluster({ instances: 1, environment: { REDIS_TIMEOUT_MS: '5000' } }));
  if (cluster === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  const redis = made.use(await tcpProxy(cluster.redis.url));
  const postgres = made.use(await tcpProxy(cluster.postgres.url));
  const settings = { REDIS_URL: redis.url, DATABASE_URL: postgres.url, REDIS_TIMEOUT_MS: '50' };
  const far = await cluster.startInstance(settings);
  const urls = { near: cluster.instances[0]?.url ?? '', far: far.url };
  const kept = made.move();
  return { cluster, urls, redis, postgres, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
