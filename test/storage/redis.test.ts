/** Guarantees of Redis in addition to those of every limit store. */

import { expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { openStore } from '../../src/app/store.ts';
import { plans } from '../../src/domain/plan.ts';
import { resources } from '../../src/domain/resources.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { FakeClock } from '../support/clock.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { until } from '../support/wait.ts';
import { clusterPlaceOn, patient } from './cluster-place.ts';
import { strictRules } from './place.ts';
import { callerWith, enterprise, newKey, newPet } from './samples.ts';

/** Length of the store id between the prefix and the name of a Redis key. */
const storeIdLength = 12;
const caller = callerWith();

await describeWithServers('Redis', (there) => {
  async function command(...words: [string, ...string[]]): Promise<unknown> {
    const client = new RedisClient(there.redisUrl);
    const [name, ...args] = words;
    const answer = await client.send(name, args);
    client.close();
    return answer;
  }

  test('no request fails after the script cache is flushed', async () => {
    await using place = await clusterPlaceOn(there)(new FakeClock(), strictRules);
    await using store = await place.open(true);
    const { callers } = await store.limits.versions();
    expect((await store.limits.take(caller, callers)).verdict?.remaining).toBe(59);
    await command('SCRIPT', 'FLUSH');
    expect((await store.limits.take(caller, callers)).verdict?.remaining).toBe(58);
    expect(store.health()).not.toContain(troubles.redis);
  });

  test('the Redis clock is used by default', async () => {
    await using schema = await there.makeSchema();
    const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix: there.makePrefix() };
    // The clock of this machine is off by years.
    const years = Date.parse('2040-01-01T00:00:00Z');
    const clock = { now: () => years, steady: () => years, storeTime: () => years, aheadSeconds: 0 };
    await using store = await openStore({
      url: schema.url,
      clock,
      rules: strictRules,
      isServing: true,
      cluster,
    });
    const { callers } = await store.limits.versions();
    const now = async () => Number(((await command('TIME')) as [string])[0]);
    const before = await now();
    const resetAt = (await store.limits.take(caller, callers)).verdict?.minute.resetAt ?? 0;
    expect(resetAt - 60).toBeGreaterThanOrEqual(before);
    expect(resetAt - 60).toBeLessThanOrEqual(await now());
  });

  test('a change that was not announced through Redis is detected in PostgreSQL and then announced', async () => {
    const prefix = there.makePrefix();
    await using schema = await there.makeSchema();
    const at = (redisUrl: string, isServing: boolean) => {
      const cluster = { ...patient, redisUrl, redisPrefix: prefix };
      return openStore({ url: schema.url, clock: new FakeClock(), rules: strictRules, isServing, cluster });
    };
    await using store = await at(there.redisUrl, true);
    await using stranger = await at('redis://127.0.0.1:1', false);
    const before = await store.limits.versions();
    await stranger.write('createPet', { now: 0, body: newPet('Ozzy') });
    const { id } = await enterprise(stranger, plans.free);
    await stranger.write('createKey', newKey(id, 'print'));
    await until(async () => {
      const { callers, pets } = await store.limits.versions();
      return callers > before.callers && pets > before.pets;
    });

    const names = async () => {
      const keys = (await command('KEYS', `${prefix}*`)) as string[];
      return keys.filter((key) => /:(?:callers|pets)$/.test(key)).toSorted() as [string, ...string[]];
    };
    const kept = await names();
    const storedVersions = () => command('MGET', ...kept) as Promise<(string | null)[]>;
    await until(async () => (await storedVersions()).every((version) => Number(version) > 0));
    const versions = await storedVersions();
    await command('DEL', ...kept);
    await until(async () => (await storedVersions()).every((version, index) => version === versions[index]));
  });

  test('the limit state of an account expires within two days', async () => {
    const prefix = there.makePrefix();
    await using schema = await there.makeSchema();
    const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix: prefix };
    const clock = new FakeClock();
    await using store = await openStore({
      url: schema.url,
      clock,
      rules: strictRules,
      isServing: true,
      cluster,
    });
    const { callers } = await store.limits.versions();
    for (let index = 0; index < 62; index++) await store.limits.take(caller, callers);
    clock.advance(1);
    await store.limits.take(caller, callers);
    await store.limits.fail('192.0.2.1');
    const keys = (await command('KEYS', `${prefix}*`)) as string[];
    const lasting = [...resources, 'bans', 'clock', 'process', 'server'];
    const passing = keys.filter((key) => !lasting.some((name) => key.endsWith(`:${name}`)));
    expect(passing.map((key) => key.slice(prefix.length + storeIdLength)).toSorted()).toEqual([
      ':failures:192.0.2.1',
      ':{1}:key:1',
      ':{1}:key:1:strikes',
      ':{1}:usage',
    ]);
    for (const key of passing) {
      const seconds = Number(await command('TTL', key));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThan(2 * 86_400);
    }
  });
});
