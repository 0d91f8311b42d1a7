/** On every node of a Redis Cluster, limits follow the same rules as on any other store. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { LimitedStore } from '../../src/app/limited-store.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { clusterPlaceOn } from '../storage/cluster-place.ts';
import { limitStoreConforms } from '../storage/limit-store-conformance.ts';
import { compareWithLaw } from '../storage/limits-conformance.ts';
import { storeTests, strictRules } from '../storage/place.ts';
import { newPet } from '../storage/samples.ts';
import { versionsConform } from '../storage/versions-conformance.ts';
import { FakeClock } from '../support/clock.ts';
import { redisCluster } from '../support/redis-cluster.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { take } from './limit-bench.ts';
import { accountIds, callerOf, clusterBench } from './redis-cluster-bench.ts';

const servers = await testServers();
const cluster = servers && (await redisCluster({ primaries: 3 }));
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

describe.skipIf(cluster === undefined)('on Redis Cluster', () => {
  // These tests are skipped if no database servers are available.
  const there = { ...servers, redisUrl: cluster?.url ?? '' } as NonNullable<typeof servers>;
  const nodes = cluster?.primaries ?? [];

  const open = () => clusterBench(there, there.redisUrl);

  describe('limits', () => {
    const check = storeTests(clusterPlaceOn(there));
    limitStoreConforms(check);
    versionsConform(check);
  });

  test('every decision follows the rate limiting rules', async () => {
    const clock = new FakeClock();
    await using place = await clusterPlaceOn(there)(clock, strictRules);
    await using store = await place.open(true);
    const limiter = { limits: store.limits, clock, rules: strictRules };
    const tally = await compareWithLaw(limiter, { sequences: 20, length: 60, seed: 14, serverClocks: 24 });
    expect(tally.api_key_banned).toBeDefined();
    // Redis made all decisions.
    for (const trouble of [troubles.redis, troubles.redisPart]) expect(store.health()).not.toContain(trouble);
  });

  test('accounts and addresses are spread across all nodes', async () => {
    await using bench = await open();
    for (const id of accountIds) await take(bench.one.store, callerOf(id));
    for (const id of accountIds) await bench.one.store.limits.fail(`192.0.2.${id}`);
    for (const node of nodes) {
      const keys = (await node.command('KEYS', `${bench.prefix}*`)) as string[];
      expect(keys.filter((key) => key.endsWith(':usage')).length).toBe(accountIds.length / nodes.length);
      expect(keys.some((key) => key.includes(':failures:'))).toBe(true);
    }
  });

  test('two instances share the counts of every account', async () => {
    await using bench = await open();
    const admitted = async (accountId: number) => {
      const asked = [bench.one.store, bench.other.store].flatMap((store) =>
        Array.from({ length: 4 }, () => take(store, callerOf(accountId))),
      );
      return (await Promise.all(asked)).filter(({ errorCode }) => errorCode === undefined).length;
    };
    expect(await Promise.all(accountIds.map(admitted))).toEqual(accountIds.map(() => 5));
  });

  test('a change acknowledged by one instance is visible immediately on the other, for accounts on every shard', async () => {
    await using bench = await open();
    const versionsFor = async ({ limits }: LimitedStore, accountId: number) => {
      await take(bench.other.store, callerOf(accountId));
      return (await limits.standing(callerOf(accountId))).versions.pets;
    };
    for (const id of accountIds) {
      const before = await versionsFor(bench.other.store, id);
      await bench.one.store.write('createPet', { now: 0, body: newPet('Ozzy') });
      const after = await versionsFor(bench.other.store, id);
      expect(after).toBeGreaterThan(before);
    }
  });

  test('a change increments the version only once, even if several shards report the change', async () => {
    await using bench = await open();
    const versions = async () => {
      for (const id of accountIds) await take(bench.other.store, callerOf(id));
      return (await bench.other.store.limits.versions()).pets;
    };
    const before = await versions();
    await bench.one.store.write('createPet', { now: 0, body: newPet('Ozzy') });
    expect(await versions()).toBe(before + 1);
  });

  test('bans can be listed, lifted and restored for accounts on every shard', async () => {
    await using bench = await open();
    const banned = accountIds.slice(0, 24);
    const states = async () => Promise.all(banned.map((id) => take(bench.other.store, callerOf(id))));
    const refusals = async () => new Set((await states()).map(({ errorCode }) => errorCode));
    await Promise.all(
      banned.map((id) => Promise.all(Array.from({ length: 6 }, () => take(bench.one.store, callerOf(id))))),
    );
    bench.clock.advance(1);
    for (let strike = 0; strike < strictRules.ban.strikes; strike++) {
      await Promise.all(banned.map((id) => take(bench.one.store, callerOf(id))));
    }
    expect(await refusals()).toEqual(new Set(['api_key_banned']));
    const listed = async () => (await bench.other.store.limits.bans()).map(({ keyId }) => keyId);
    expect(await listed()).toEqual(banned);

    for (const node of nodes) await node.command('FLUSHALL');
    expect(await refusals()).toEqual(new Set(['api_key_banned']));
    expect(await listed()).toEqual(banned);

    for (const id of banned) expect(await bench.one.store.limits.lift(id)).toBe(true);
    // An instance may still list a ban until it learns that the ban was lifted.
    await until(async () => (await listed()).length === 0);
    expect(await refusals()).not.toContain('api_key_banned');
  });
});
