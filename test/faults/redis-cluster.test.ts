/** Nodes of a Redis Cluster stop and are replaced. Requests still succeed, and counts are exact where possible. */
import { afterAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { type RedisCluster, type RedisNode, redisCluster } from '../support/redis-cluster.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { ban, take } from './limit-bench.ts';
import {
  accountIds,
  accountsOn,
  ample,
  both,
  callerOf,
  clusterBench,
  isPartly,
  isWhole,
  load,
  remaining,
  slotOfAccount,
} from './redis-cluster-bench.ts';

const servers = await testServers();
const cluster = servers && (await redisCluster({ primaries: 3, replicas: 1 }));
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

describe.skipIf(cluster === undefined)('Redis Cluster', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const own = cluster ?? ({} as RedisCluster);
  const open = () => clusterBench(there, own.url);

  const accountsOf = (node: RedisNode) => accountsOn(own, node);

  test("while a node is down, each instance counts requests from the node's accounts locally, and Redis counts all other requests", async () => {
    await using bench = await open();
    const [, node, healthy] = own.primaries as [RedisNode, RedisNode, RedisNode];
    const [there] = (await accountsOf(node)) as [number];
    const [elsewhere] = (await accountsOf(healthy)) as [number];
    const ids = [there, elsewhere];
    const takeBoth = async (id: number) => {
      for (const { store } of [bench.one, bench.other]) {
        expect((await take(store, callerOf(id, ample))).errorCode).toBeUndefined();
      }
    };
    for (const id of ids) await takeBoth(id);
    await node.stop('SIGKILL');
    await both(bench, isPartly);
    expect(bench.one.notices.join()).toContain(`degraded: Redis node 127.0.0.1:${node.port} unavailable`);
    for (const id of ids) await takeBoth(id);
    // Each instance knows of three requests from that account: two counted in Redis and one counted locally.
    const lefts = await Promise.all(
      [bench.one, bench.other].map(async ({ store }) => {
        return (await store.limits.standing(callerOf(there, ample))).verdict.day.remaining;
      }),
    );
    expect(Math.max(...lefts)).toBeGreaterThanOrEqual(ample.perDay - 3);
    expect(await remaining(bench, elsewhere)).toBe(ample.perDay - 4);
    await node.start();
    await own.settled();
    await both(bench, isWhole);
    await takeBoth(there);
    // The node lost its counts. One of the previously counted requests may be missing.
    const left = await remaining(bench, there);
    expect(left).toBeGreaterThanOrEqual(ample.perDay - 6);
    expect(left).toBeLessThanOrEqual(ample.perDay - 5);
    expect(bench.one.notices.at(-1)).toContain('available again');
  });

  test("a ban lifted while the account's node is down ends as soon as the node is back", async () => {
    await using bench = await open();
    const [, node] = own.primaries as [RedisNode, RedisNode];
    const [id] = (await accountsOf(node)) as [number];
    const caller = callerOf(id);
    await ban(bench.one, bench.clock, caller);
    // The node keeps the ban, because it is only frozen.
    await node.freeze();
    await both(bench, isPartly);
    expect(await bench.other.store.limits.lift(caller.keyId)).toBe(true);
    await node.thaw();
    await both(bench, isWhole);
    await until(async () => (await take(bench.one.store, caller)).errorCode !== 'api_key_banned');
    expect((await take(bench.other.store, caller)).errorCode).not.toBe('api_key_banned');
    await own.settled();
  });

  test('no request fails or is miscounted during a planned failover to a replica', async () => {
    await using bench = await open();
    const [primary] = own.primaries as [RedisNode];
    const [replica] = own.replicas as [RedisNode];
    const [id] = (await accountsOf(primary)) as [number];
    await using requests = load(bench, id);
    for (const next of [replica, primary]) {
      await requests.more(200);
      await next.command('CLUSTER', 'FAILOVER');
      await until(async () => (await own.ownerOf(slotOfAccount(id))) === next);
      await requests.more(200);
      await own.settled();
    }
    const sent = await requests.stop();
    expect(await remaining(bench, id)).toBe(ample.perDay - sent);
    for (const { notices } of [bench.one, bench.other]) expect(notices.join()).not.toContain('MOVED');
  });

  test("after a replica takes over from a killed node, instances share the counts of the node's accounts again", async () => {
    await using bench = await open();
    const [primary] = own.primaries as [RedisNode];
    const [id] = (await accountsOf(primary)) as [number];
    await using requests = load(bench, id);
    await requests.more(200);
    await primary.stop('SIGKILL');
    await both(bench, isPartly);
    await both(bench, isWhole);
    await requests.more(200);
    await requests.stop();
    const before = await remaining(bench, id);
    for (const { store } of [bench.one, bench.other]) await take(store, callerOf(id, ample));
    expect(await remaining(bench, id)).toBe(before - 2);
    const gone = `Redis node 127.0.0.1:${primary.port} no longer owns any slots in the cluster`;
    await until(() => bench.one.notices.includes(gone));
    await primary.start();
    await own.settled();
    await primary.command('CLUSTER', 'FAILOVER');
    await until(async () => (await own.ownerOf(slotOfAccount(id))) === primary);
    await own.settled();
  });

  test('an instance can start while the first host in REDIS_URL, or every host, is unreachable', async () => {
    await using bench = await open();
    const [first, second, third] = own.primaries.map(({ port }) => `127.0.0.1:${port}`);
    {
      await using instance = await bench.open(`redis://127.0.0.1:1,${second},${third}`);
      await until(() => isWhole(instance));
      await take(bench.one.store, callerOf(1));
      expect((await take(instance.store, callerOf(1))).remaining).toBe(3);
    }
    for (const node of own.primaries) await node.freeze();
    await using instance = await bench.open(`redis://${first},${second}`);
    expect(instance.notices[0]).toStartWith('degraded: Redis unavailable: no response within');
    for (const node of own.primaries) await node.thaw();
    await until(() => isWhole(instance));
    await own.settled();
    await both(bench, isWhole);
    const { remaining } = await take(bench.one.store, callerOf(2));
    expect((await take(instance.store, callerOf(2))).remaining).toBe(remaining - 1);
  });

  test('the password in REDIS_URL is used for all nodes, and each node is contacted at the host name that it announces', async () => {
    const all = [...own.primaries, ...own.replicas];
    const announce = async (host: string, kind: string, password: string) => {
      for (const node of all) {
        await node.command('CONFIG', 'SET', 'cluster-announce-hostname', host);
        await node.command('CONFIG', 'SET', 'cluster-preferred-endpoint-type', kind);
        await node.command('CONFIG', 'SET', 'masterauth', password);
      }
    };
    await using connections = new AsyncDisposableStack();
    connections.defer(() => announce('', 'ip', ''));
    await announce('localhost', 'hostname', 'right');
    await until(
      async () => !JSON.stringify(await own.primaries[0]?.command('CLUSTER', 'SLOTS')).includes('?'),
    );
    for (const node of all) {
      const client = connections.adopt(new RedisClient(node.url), (used) => used.close());
      await client.send('CONFIG', ['SET', 'requirepass', 'right']);
      connections.defer(async () => void (await client.send('CONFIG', ['SET', 'requirepass', ''])));
    }
    await using bench = await clusterBench(there, own.url.replace('redis://', 'redis://:right@'));
    for (const id of accountIds) await take(bench.one.store, callerOf(id));
    for (const id of accountIds) expect((await take(bench.other.store, callerOf(id))).remaining).toBe(3);
    await using refused = await bench.open(own.url.replace('redis://', 'redis://:wrong@'));
    expect(refused.notices[0]).toContain('WRONGPASS');
  });

  test('a REDIS_URL that lists several hosts is reported if the hosts are not cluster nodes', async () => {
    await using bench = await open();
    await using instance = await bench.open(`${there.redisUrl},127.0.0.1:1`);
    expect(instance.notices[0]).toContain('REDIS_URL has several hosts');
  });
});
