/**
 * Limits and bans survive data loss, delays and lost replies in Redis and PostgreSQL. Each server is behind a dedicated
 * proxy.
 */

import { describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { openStore } from '../../src/app/store.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { patient } from '../storage/cluster-place.ts';
import { nextTurn, strictRules } from '../storage/place.ts';
import { FakeClock } from '../support/clock.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type OwnServer, ownRedis } from '../support/servers.ts';
import { newReport } from '../support/usage.ts';
import { until } from '../support/wait.ts';
import { ban, caller, type LimitBench, type LimitInstance, limitBench, take, takes } from './limit-bench.ts';

await describeWithServers('limits and bans', (there) => {
  const bench = () => limitBench(there);

  test('survive an emptied Redis even if PostgreSQL takes longer to respond than the Redis timeout', async () => {
    await using place = await bench();
    {
      await using first = await place.open();
      await ban(first, place.clock);
    }
    await using second = await place.open({ redisTimeoutMs: 500 });
    second.postgres.delay(1_500);
    await place.empty();
    expect((await take(second.store)).errorCode).toBe('api_key_banned');
    const other = await take(second.store, { ...caller, keyId: 2 });
    expect([other.errorCode, other.day.remaining]).toEqual(['rate_limit_exceeded', 10]);
  });

  describe('survive a Redis that restarts from an older file', () => {
    const second = { ...caller, keyId: 2 };

    /** Bans the key after Redis has written its file, runs `beforeRestart`, and returns once Redis has restarted. */
    async function restartedAfterBan(
      redis: OwnServer,
      { place, instance }: { place: LimitBench; instance: LimitInstance },
      beforeRestart: () => unknown = () => undefined,
    ): Promise<void> {
      await takes(instance.store, 3);
      const client = new RedisClient(redis.url);
      await client.send('SAVE', []);
      client.close();
      await ban(instance, place.clock);
      await beforeRestart();
      await redis.stop('SIGKILL');
      await redis.start();
    }

    test('in an instance that keeps running', async () => {
      await using redis = await ownRedis();
      if (redis === undefined) return;
      await using place = await limitBench({ ...there, redisUrl: redis.url });
      await using instance = await place.open();
      await restartedAfterBan(redis, { place, instance });
      await until(() => instance.notices.includes('Redis available again'));
      await until(async () => (await instance.store.limits.bans()).length === 1);
      expect((await instance.store.limits.standing(second)).verdict.minute.remaining).toBe(0);
      expect((await take(instance.store)).errorCode).toBe('api_key_banned');
      expect(await take(instance.store, second)).toMatchObject({
        errorCode: 'rate_limit_exceeded',
        day: { remaining: 10 },
      });
    });

    test('in an instance that starts afterwards', async () => {
      await using redis = await ownRedis();
      if (redis === undefined) return;
      await using place = await limitBench({ ...there, redisUrl: redis.url });
      const before = await place.open();
      await restartedAfterBan(redis, { place, instance: before }, () => before[Symbol.asyncDispose]());
      await using instance = await place.open();
      expect(await take(instance.store, second)).toMatchObject({
        errorCode: 'rate_limit_exceeded',
        day: { remaining: 10 },
      });
      await until(async () => (await instance.store.limits.bans()).length === 1);
      expect((await take(instance.store)).errorCode).toBe('api_key_banned');
    });
  });

  test('a ban that was lifted is not restored by a Redis that restarts from an older file', async () => {
    await using redis = await ownRedis();
    if (redis === undefined) return;
    await using place = await limitBench({ ...there, redisUrl: redis.url });
    await using instance = await place.open();
    const { limits } = instance.store;
    await ban(instance, place.clock);
    const client = new RedisClient(redis.url);
    await client.send('SAVE', []);
    client.close();
    await limits.lift(caller.keyId);
    // PostgreSQL remembers only the last lifted ban of a key.
    place.clock.advance(60);
    await ban(instance, place.clock);
    await limits.lift(caller.keyId);
    await redis.stop('SIGKILL');
    await redis.start();
    await until(() => instance.notices.includes('Redis available again'));
    await until(async () => (await limits.bans()).length === 0);
    expect((await take(instance.store)).errorCode).not.toBe('api_key_banned');
  });

  test('survive a failover to a replica that lags behind, and the failback, even if each server process keeps running', async () => {
    const settings = { 'repl-diskless-sync-delay': '0' };
    await using first = await ownRedis(settings);
    await using second = await ownRedis(settings);
    if (first === undefined || second === undefined) return;
    const clients = [first, second].map(({ url }) => new RedisClient(url));
    const follow = async (index: number, { url }: OwnServer) => {
      const { hostname, port } = new URL(url);
      await clients[index]?.send('REPLICAOF', [hostname, port]);
      const isUp = async () => String(await clients[index]?.send('INFO', ['replication'])).includes(':up');
      await until(isUp);
    };
    await using place = await limitBench({ ...there, redisUrl: first.url });
    await using instance = await place.open();
    await takes(instance.store, 3);
    const usageKeys = async () => clients[0]?.send('KEYS', ['*:usage']);
    const before = await usageKeys();
    await follow(1, first);
    // The primary's data is not lost if a replica follows it.
    await using other = await place.open();
    await take(other.store);
    expect(await usageKeys()).toEqual(before);
    await clients[1]?.send('REPLICAOF', ['NO', 'ONE']);
    await ban(instance, place.clock);
    await until(async () => (await place.sql`SELECT FROM ban_snapshots WHERE banned_until > 0`).length === 1);
    await follow(0, second);
    await until(() => instance.notices.length > 0);
    await clients[0]?.send('REPLICAOF', ['NO', 'ONE']);
    await until(() => instance.notices.includes('Redis available again'));
    expect((await take(instance.store)).errorCode).toBe('api_key_banned');
    for (const client of clients) client.close();
  });

  test('count for at most one window if they were saved before the clock was set back', async () => {
    await using place = await bench();
    await using instance = await place.open();
    const inAnHour = Math.floor(place.clock.now() / 1_000) + 3_600;
    await place.sql`INSERT INTO usage_snapshots VALUES (${caller.accountId}, ${inAnHour}, 50, ${inAnHour}, 50)`;
    expect((await take(instance.store)).errorCode).toBe('rate_limit_exceeded');
    place.clock.advance(60);
    expect((await take(instance.store)).minute.remaining).toBe(49);
  });

  test("are restored with the requests counted after Redis' clock was set back", async () => {
    await using place = await bench();
    for (const count of [3, 4]) {
      await using instance = await place.open();
      await takes(instance.store, count);
      // An instance saves its counts when it stops.
      await instance[Symbol.asyncDispose]();
      place.clock.step(-2);
    }
    await place.empty();
    await using instance = await place.open();
    expect((await take(instance.store)).day.remaining).toBe(caller.quota.perDay - 8);
  });

  test("are enforced according to the instance's last known state if Redis has lost its data and PostgreSQL does not respond", async () => {
    await using place = await bench();
    // Long enough to connect to PostgreSQL on a busy machine.
    await using instance = await place.open({ statementTimeoutMs: 2_000 });
    await ban(instance, place.clock);
    instance.postgres.hold();
    await place.empty();
    expect((await take(instance.store)).errorCode).toBe('api_key_banned');
    // The instance does not know the state of other accounts, so their callers must retry.
    const stranger = { ...caller, keyId: 9, accountId: 9 };
    expect(await take(instance.store, stranger).catch((error) => error)).toBeInstanceOf(StorageUnavailable);
    await until(() => instance.notices.some((text) => text.startsWith('degraded: PostgreSQL unavailable')));
    await instance.postgres.heal();
    await until(() => instance.notices.includes('PostgreSQL available again'));
    expect((await take(instance.store)).errorCode).toBe('api_key_banned');
    expect((await take(instance.store, stranger)).remaining).toBe(49);
  });

  test("an instance that is cut off from Redis reports a caller's limit status, including its local counts", async () => {
    await using place = await bench();
    await using instance = await place.open();
    const { limits } = instance.store;
    await takes(instance.store, 3);
    await instance.redis.cut();
    await until(() => instance.notices.length > 0);
    await takes(instance.store, 2);
    for (let look = 0; look < 3; look++) {
      expect((await limits.standing(caller)).verdict).toMatchObject({
        minute: { remaining: 45 },
        day: { remaining: 55 },
      });
    }
    await instance.redis.heal();
    await until(() => instance.notices.includes('Redis available again'));
    // Reading the limit status keeps the local counts.
    expect((await limits.standing(caller)).verdict.minute.remaining).toBe(45);
    expect((await take(instance.store)).remaining).toBe(44);
  });

  test("a caller's limit status includes counts that Redis lost, and reading the status restores them to Redis", async () => {
    await using place = await bench();
    {
      await using first = await place.open();
      await ban(first, place.clock);
    }
    await place.empty();
    await using second = await place.open();
    const { verdict } = await second.store.limits.standing(caller);
    expect([verdict.errorCode, verdict.day.remaining]).toEqual(['api_key_banned', 10]);
    expect((await take(second.store)).errorCode).toBe('api_key_banned');
  });

  test('a ban that another instance imposes or lifts takes effect on an instance that is cut off from Redis', async () => {
    await using place = await bench();
    await using cutOff = await place.open();
    await using other = await place.open();
    await take(cutOff.store);
    await cutOff.redis.cut();
    await until(() => cutOff.notices.length > 0);
    await ban(other, place.clock);
    await until(async () => (await take(cutOff.store)).errorCode === 'api_key_banned');
    expect(await other.store.limits.lift(caller.keyId)).toBe(true);
    await until(async () => (await take(cutOff.store)).errorCode !== 'api_key_banned');
  });

  test('a request is counted only once if Redis counted it but its reply was lost, even if 12 processes count requests', async () => {
    await using place = await bench();
    await using instance = await place.open({ redisTimeoutMs: 1_000 });
    await using others = new AsyncDisposableStack();
    expect(await takes(instance.store, 3)).toEqual([49, 48, 47]);
    instance.redis.hold('answers');
    expect(await takes(instance.store, 5)).toEqual([46, 45, 44, 43, 42]);
    await instance.redis.answerHeld();
    for (let count = 11; count > 0; count--) {
      const other = others.use(await place.open({ redisTimeoutMs: 10_000 }));
      // On a busy machine, it may not have connected to Redis yet, and would count locally.
      await until(() => !other.store.health().includes(troubles.redis));
      expect((await take(other.store)).remaining).toBe(30 + count);
    }
    instance.redis.drop();
    await instance.redis.heal();
    await until(() => instance.notices.includes('Redis available again'));
    expect((await take(instance.store)).remaining).toBe(30);
  });

  test('a request is counted only once if it reaches Redis after the timeout', async () => {
    await using place = await bench();
    await using instance = await place.open({ redisTimeoutMs: 1_000 });
    expect(await takes(instance.store, 3)).toEqual([49, 48, 47]);
    instance.redis.hold('questions');
    expect(await takes(instance.store, 5)).toEqual([46, 45, 44, 43, 42]);
    await instance.redis.heal();
    await until(() => instance.notices.includes('Redis available again'));
    expect((await take(instance.store)).remaining).toBe(41);
    // Another instance also sees that each request was counted only once.
    await using other = await place.open();
    expect((await take(other.store)).remaining).toBe(40);
  });

  test('a slow process still counts requests in Redis, and does not report a responsive Redis as unavailable', async () => {
    await using place = await bench();
    await using instance = await place.open({ redisTimeoutMs: 250 });
    expect((await take(instance.store)).remaining).toBe(49);
    const asked: ReturnType<typeof take>[] = [];
    // Blocks the event loop for longer than the Redis timeout before each query.
    for (let tick = 0; tick < 6; tick++) {
      const until = performance.now() + 300;
      while (performance.now() < until);
      asked.push(take(instance.store));
      await nextTurn();
    }
    const remaining = (await Promise.all(asked)).map((verdict) => verdict.remaining);
    expect(remaining).toEqual(Array.from({ length: 6 }, (_, index) => 48 - index));
    expect(instance.notices).toEqual([]);
  });

  describe('of an address without a valid key', () => {
    const address = '192.0.2.1';

    /** Opens an instance, and exceeds the limit in a window that begins now. */
    async function exceeded(place: LimitBench) {
      const instance = await place.open();
      const { limits } = instance.store;
      for (let count = 0; count < strictRules.failuresPerMinute; count++) await limits.fail(address);
      const { refused, state } = await limits.fail(address);
      expect([refused, state.secondsLeft]).toEqual([true, 60]);
      return { instance, limits, state, [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose]() };
    }

    test('are known for a second after Redis has refused a request: the next ones do not wait for Redis', async () => {
      await using place = await bench();
      await using one = await exceeded(place);
      one.instance.redis.hold();
      place.clock.advance(0.999);
      // Not a promise, so there was no call to Redis.
      expect(one.limits.fail(address)).toEqual({ refused: true, state: one.state });
      expect(one.limits.fail('192.0.2.2')).toBeInstanceOf(Promise);
      place.clock.advance(0.501);
      const asked = one.limits.fail(address);
      expect(asked).toBeInstanceOf(Promise);
      await one.instance.redis.heal();
      expect(await asked).toEqual({ refused: true, state: { ...one.state, secondsLeft: 59 } });
      place.clock.advance(0.5);
      expect(one.limits.fail(address)).toEqual({ refused: true, state: { ...one.state, secondsLeft: 58 } });
    });

    test('show a Retry-After that is long enough, even if the reply of Redis was late', async () => {
      await using place = await bench();
      await using one = await exceeded(place);
      place.clock.advance(30.5);
      one.instance.redis.hold();
      const late = one.limits.fail(address);
      place.clock.advance(0.6);
      await one.instance.redis.heal();
      const refusal = { refused: true, state: { ...one.state, secondsLeft: 30 } };
      expect(await late).toEqual(refusal);
      expect(one.limits.fail(address)).toEqual(refusal);
    });

    test('end with the window, even if the reply of Redis was late', async () => {
      await using place = await bench();
      await using one = await exceeded(place);
      place.clock.advance(59.25);
      one.instance.redis.hold();
      const late = one.limits.fail(address);
      place.clock.advance(0.5);
      await one.instance.redis.heal();
      const refusal = { refused: true, state: { ...one.state, secondsLeft: 1 } };
      expect(await late).toEqual(refusal);
      place.clock.advance(0.249);
      expect(one.limits.fail(address)).toEqual(refusal);
      place.clock.advance(0.001);
      const { refused, state } = await one.limits.fail(address);
      expect([refused, state.secondsLeft]).toEqual([false, 60]);
    });
  });

  test('requests beyond the capacity of Redis get Retry-After, and the instance does not fall back to counting locally', async () => {
    await using place = await bench();
    await using instance = await place.open();
    const { limits } = instance.store;
    instance.redis.hold();
    const asked = Array.from({ length: 11_001 }, () =>
      Promise.resolve(limits.fail('192.0.2.1')).then(
        ({ refused }) => (refused ? 'refused' : 'counted'),
        (error) => (error instanceof StorageUnavailable ? 'unavailable' : error),
      ),
    );
    expect(await asked.at(-1)).toBe('unavailable');
    // After rejecting an address, the instance knows the address's state without a query.
    expect((await limits.peek('192.0.2.1')).limit).toBe(strictRules.failuresPerMinute);
    await instance.redis.heal();
    const answers = await Promise.all(asked);
    expect(new Set(answers)).toEqual(new Set(['counted', 'refused', 'unavailable']));
    expect(answers.filter((answer) => answer === 'counted').length).toBe(strictRules.failuresPerMinute);
    expect(instance.notices).toEqual([]);
  });

  test('are kept separate for stores that share a Redis server and a prefix', async () => {
    await using one = await there.makeSchema();
    await using other = await there.makeSchema();
    const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix: there.makePrefix() };
    const open = (url: string) =>
      openStore({ url, clock: new FakeClock(), rules: strictRules, isServing: true, cluster });
    await using first = await open(one.url);
    await using second = await open(other.url);
    await takes(first, 49);
    expect((await take(second)).remaining).toBe(49);
  });

  test("a command whose prefix differs from the instances' prefix is rejected with an error that names the right prefix", async () => {
    await using schema = await there.makeSchema();
    const open = (redisPrefix: string, isServing: boolean) => {
      const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix };
      return openStore({ url: schema.url, clock: new FakeClock(), rules: strictRules, isServing, cluster });
    };
    const prefix = there.makePrefix();
    await using _serving = await open(prefix, true);
    await using _beside = await open(prefix, false);
    await expect(open('mistyped:', false)).rejects.toThrow(`REDIS_PREFIX=${prefix}`);
  });

  test('an instance cannot open the store with a new prefix until the instances with the old prefix have stopped, and then moves the store to the new prefix', async () => {
    await using schema = await there.makeSchema();
    const clock = new FakeClock();
    const notices: string[] = [];
    const open = (redisPrefix: string) => {
      const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix };
      const notice = (text: string) => notices.push(text);
      return openStore({ url: schema.url, clock, rules: strictRules, isServing: true, cluster, notice });
    };
    const [prefix, other] = [there.makePrefix(), there.makePrefix()];
    {
      await using first = await open(prefix);
      // The first instance has not reported yet. The other process must not change the prefix, because it is rejected.
      await expect(open(other)).rejects.toThrow('use different Redis servers');
      expect(notices.splice(0)).toEqual([expect.stringContaining('different Redis servers or prefixes')]);
      await using _restarted = await open(prefix);
      const note = (name: string, seenAt: number) => {
        const instance = { name, version: '1', startedAt: clock.now(), seenAt };
        const number = newReport(clock.now());
        return first.write('recordUsage', { minutes: [], latencies: [], keys: [], number, instance });
      };
      await note('first:1', clock.now());
      // An instance that ended before the clock was set back.
      await note('ahead:1', clock.now() + 3_600_000);
      await expect(open(other)).rejects.toThrow(
        new RegExp(`Set REDIS_PREFIX=${prefix}, or stop the running instances first: first:1\\.`),
      );
      await using _again = await open(prefix);
    }
    expect(notices).toEqual([]);
    clock.advance(31);
    await using _moved = await open(other);
    expect(notices).toEqual([expect.stringContaining('The store now uses the new prefix')]);
  });

  test('bans can be listed and lifted even if Redis has lost them', async () => {
    await using place = await bench();
    await using instance = await place.open();
    await ban(instance, place.clock);
    await place.empty();
    const { limits } = instance.store;
    expect((await limits.bans()).map(({ keyId }) => keyId)).toEqual([caller.keyId]);
    expect(await limits.lift(caller.keyId)).toBe(true);
    expect(await limits.bans()).toEqual([]);
    expect(await limits.lift(caller.keyId)).toBe(false);
    expect((await take(instance.store)).errorCode).not.toBe('api_key_banned');
  });
});
