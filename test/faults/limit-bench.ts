/** Instances of one store on PostgreSQL and Redis, each with separate proxies, and helpers that count requests. */
import { RedisClient, SQL } from 'bun';
import type { LimitedStore } from '../../src/app/limited-store.ts';
import { openStore } from '../../src/app/store.ts';
import { patient } from '../storage/cluster-place.ts';
import { strictRules } from '../storage/place.ts';
import { callerWith } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import type { TestServers } from '../support/servers.ts';
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts';

export const caller = callerWith({ quota: { perMinute: 50, perDay: 60 } });

export interface LimitBench extends AsyncDisposable {
  readonly clock: FakeClock;
  open(timeouts?: { redisTimeoutMs?: number; statementTimeoutMs?: number }): Promise<LimitInstance>;
  /** Deletes all the store's data in Redis. */
  empty(): Promise<void>;
  /** A connection to the store's database. */
  readonly sql: SQL;
}

export interface LimitInstance extends AsyncDisposable {
  readonly store: LimitedStore;
  readonly redis: TcpProxy;
  readonly postgres: TcpProxy;
  /** Notices for operators. */
  readonly notices: string[];
}

export async function limitBench(servers: TestServers): Promise<LimitBench> {
  await using made = new AsyncDisposableStack();
  const schema = made.use(await servers.makeSchema());
  const redisPrefix = servers.makePrefix();
  const clock = new FakeClock();
  const sql = made.use(new SQL(schema.url, { max: 1 }));
  const kept = made.move();
  return {
    clock,
    sql,
    async open(timeouts = {}) {
      const redis = kept.use(await tcpProxy(servers.redisUrl));
      const postgres = kept.use(await tcpProxy(schema.url));
      const notices: string[] = [];
      const store = await openStore({
        url: postgres.url,
        clock,
        rules: strictRules,
        isServing: true,
        cluster: { ...patient, ...timeouts, redisUrl: redis.url, redisPrefix },
        notice: (text) => notices.push(text),
      });
      // Otherwise, an instance that a test does not close would keep retrying during later tests of the process.
      const opened = kept.use(new AsyncDisposableStack());
      opened.use(store);
      return { store, redis, postgres, notices, [Symbol.asyncDispose]: () => opened.disposeAsync() };
    },
    async empty() {
      const client = new RedisClient(servers.redisUrl);
      const keys = await client.keys(`${redisPrefix}*`);
      // There are none if the instance counted locally, because Redis did not respond in time.
      if (keys.length > 0) await client.del(...keys);
      client.close();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const seenVersions = new WeakMap<LimitedStore, number>();

/** Counts a request from a cached caller, and retries if the caller's cached version was outdated. */
export async function take(store: LimitedStore, who = caller) {
  let callers = seenVersions.get(store) ?? (await store.limits.versions()).callers;
  for (;;) {
    const { verdict, versions } = await store.limits.take(who, callers);
    callers = versions.callers;
    seenVersions.set(store, callers);
    if (verdict !== undefined) return verdict;
  }
}

export async function takes(store: LimitedStore, times: number, who = caller): Promise<number[]> {
  const verdicts = await Promise.all(Array.from({ length: times }, () => take(store, who)));
  return verdicts.map(({ remaining }) => remaining);
}

export async function ban(
  { store }: Pick<LimitInstance, 'store'>,
  clock: FakeClock,
  who = caller,
): Promise<void> {
  await takes(store, who.quota.perMinute + 1, who);
  clock.advance(1);
  for (let strike = 0; strike < strictRules.ban.strikes; strike++) await take(store, who);
  if ((await take(store, who)).errorCode !== 'api_key_banned') throw new Error('The key is not banned.');
}
