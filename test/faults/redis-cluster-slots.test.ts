/** Slots of a Redis Cluster move between nodes. No request fails, and every request is counted. */
import { afterAll, describe, expect, test } from 'bun:test';
import { newPet } from '../storage/samples.ts';
import { type RedisCluster, type RedisNode, redisCluster } from '../support/redis-cluster.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { take } from './limit-bench.ts';
import {
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
const cluster = servers && (await redisCluster({ primaries: 2 }));
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

describe.skipIf(cluster === undefined)('on Redis Cluster', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const own = cluster ?? ({} as RedisCluster);
  const [from, to] = (cluster?.primaries ?? []) as [RedisNode, RedisNode];
  const open = () => clusterBench(there, own.url);
  const accountsOf = (node: RedisNode) => accountsOn(own, node);

  /** Moves a slot to another node. Calls `between` before and after moving the keys. */
  async function move(slot: number, next: RedisNode, between: () => Promise<unknown> = async () => {}) {
    const owner = await own.ownerOf(slot);
    if (owner === undefined) throw new Error('The nodes disagree about the owner of the slot.');
    await next.command('CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', owner.id);
    await owner.command('CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', next.id);
    await between();
    for (;;) {
      const keys = (await owner.command('CLUSTER', 'GETKEYSINSLOT', `${slot}`, '2')) as string[];
      if (keys.length === 0) break;
      await owner.command('MIGRATE', '127.0.0.1', next.port, '', '0', '5000', 'KEYS', ...keys);
    }
    await between();
    for (const node of [next, owner]) await node.command('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', next.id);
    await until(async () => (await own.ownerOf(slot)) === next);
  }

  test('no request fails or is miscounted while a slot moves to another node', async () => {
    await using bench = await open();
    const [id] = (await accountsOf(from)) as [number];
    await using requests = load(bench, id);
    for (const next of [to, from]) {
      await requests.more(200);
      await move(slotOfAccount(id), next);
      await requests.more(200);
    }
    const sent = await requests.stop();
    expect(await remaining(bench, id)).toBe(ample.perDay - sent);
    for (const { notices } of [bench.one, bench.other]) expect(notices.join()).not.toContain('MOVED');
  });

  test("during a slot migration that takes longer than a second, each instance counts requests from the slot's accounts locally, and counts are exact afterwards", async () => {
    await using bench = await open();
    const [id] = (await accountsOf(from)) as [number];
    const slot = slotOfAccount(id);
    await using requests = load(bench, id);
    for (const next of [to, from]) {
      await requests.more(200);
      await move(slot, next, async () => {
        await both(bench, isPartly);
        await requests.more(200);
      });
      await both(bench, isWhole);
    }
    await requests.more(200);
    const sent = await requests.stop();
    expect(await remaining(bench, id)).toBe(ample.perDay - sent);
    // On a busy machine, there may be other notices.
    const notice = `degraded: Redis Cluster slot ${slot} unavailable: `;
    expect(bench.one.notices).toContainEqual(expect.stringContaining(notice));
  });

  test('a change is announced even to a shard whose slot is moving between nodes, before the change is acknowledged', async () => {
    await using bench = await open();
    const [id] = (await accountsOf(from)) as [number];
    await take(bench.one.store, callerOf(id));
    const slot = `${slotOfAccount(id)}`;
    const versionAt = async (node: RedisNode) => {
      const names = (await node.command('CLUSTER', 'GETKEYSINSLOT', slot, '100')) as string[];
      const name = names.find((key) => key.startsWith(bench.prefix) && key.endsWith('}:pets'));
      if (name === undefined) return undefined;
      return Number(await node.asking('GET', name));
    };
    const found: (number | undefined)[] = [];
    await move(Number(slot), to, async () => {
      await bench.one.store.write('createPet', { now: 0, body: newPet('Ozzy') });
      found.push(await versionAt(from), await versionAt(to));
    });
    await move(Number(slot), from);
    const [before, , , after] = found;
    expect(found).toEqual([before, undefined, undefined, after]);
    expect(after).toBeGreaterThan(before as number);
  });
});
