/** A ban survives as long as any instance or server knows of it, and lifting a ban ends it on all instances. */
import { afterAll, describe, expect, test } from 'bun:test';
import { WriteUncertainError } from '../../src/outages/errors.ts';
import { strictRules } from '../storage/place.ts';
import { lockAwaited } from '../storage/postgres-kit.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { ban, caller, type LimitBench, type LimitInstance, limitBench, take, takes } from './limit-bench.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** Less than the interval of 10 s at which counts are saved, because bans must be saved sooner. */
const soonMs = 5_000;

const isBanned = async ({ store }: LimitInstance) => (await take(store)).errorCode === 'api_key_banned';
const isAdmitted = async (instance: LimitInstance) => !(await isBanned(instance));

const isSaved = async ({ sql }: LimitBench, bans = 1) =>
  (await sql`SELECT 1 FROM ban_snapshots WHERE banned_until > 0`).length === bans;

/** Prevents bans from being saved until the returned lock is disposed of. */
async function lockBans({ sql }: LimitBench): Promise<AsyncDisposable> {
  const session = await sql.reserve();
  await session`BEGIN`;
  await session`LOCK TABLE ban_snapshots IN EXCLUSIVE MODE`;
  return {
    [Symbol.asyncDispose]: async () => {
      await session`COMMIT`;
      session.release();
    },
  };
}

/** Disconnects an instance from Redis, so that it receives no bans. */
async function cutOff({ redis, notices }: LimitInstance): Promise<void> {
  await redis.cut();
  await until(() => notices.some((text) => text.startsWith('degraded: Redis')));
}

async function reconnect({ redis, notices }: LimitInstance): Promise<void> {
  await redis.heal();
  await until(() => notices.includes('Redis available again'));
}

/** Simulates a killed process by closing all its connections. */
async function kill({ redis, postgres }: LimitInstance): Promise<void> {
  await Promise.all([redis.cut(), postgres.cut()]);
}

describe.skipIf(servers === undefined)('a ban', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const open = async () => {
    const bench = await limitBench(there);
    return { bench, one: await bench.open(), other: await bench.open() };
  };

  test('that Redis lost before it was saved to PostgreSQL is restored by the instance that imposed it', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    {
      await using _locked = await lockBans(bench);
      await cutOff(other);
      await ban(one, bench.clock);
      await bench.empty();
      await reconnect(other);
      await until(() => isBanned(other), soonMs);
    }
    await until(() => isSaved(bench), soonMs);
    expect(await isBanned(other)).toBe(true);
  });

  test('that Redis lost is restored and listed as soon as it is saved to PostgreSQL', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    {
      await using _locked = await lockBans(bench);
      await cutOff(other);
      await ban(one, bench.clock);
      // The instance must not restore the ban before the ban is saved.
      await cutOff(one);
      await bench.empty();
      await reconnect(other);
      expect(await isBanned(other)).toBe(false);
    }
    await until(() => isSaved(bench), soonMs);
    await reconnect(one);
    await until(() => isBanned(other), soonMs);
    expect((await other.store.limits.bans()).map(({ keyId }) => keyId)).toEqual([caller.keyId]);
  });

  test('imposed by a killed instance is saved by another instance, which finds it in Redis', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    {
      await using _locked = await lockBans(bench);
      await ban(one, bench.clock);
      await kill(one);
    }
    await until(() => isSaved(bench), soonMs);
    await bench.empty();
    expect(await isBanned(other)).toBe(true);
  });

  test('imposed by a killed instance is saved by another instance that has rejected a request because of it', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    {
      await using _locked = await lockBans(bench);
      await ban(one, bench.clock);
      expect(await isBanned(other)).toBe(true);
      await kill(one);
      await bench.empty();
    }
    await until(() => isSaved(bench), soonMs);
    await until(() => isBanned(other), soonMs);
  });

  /** An account that Redis knows, whose key has been rejected before, is banned by an instance that cannot reach Redis. */
  const bannedApart = async () => {
    const { bench, one, other } = await open();
    await takes(other.store, caller.quota.perMinute + 1);
    bench.clock.advance(60);
    await take(other.store);
    await cutOff(one);
    await ban(one, bench.clock);
    await until(() => isSaved(bench));
    return { bench, one, other };
  };

  test.each([
    ['an instance that starts later', true],
    ['the running instances', false],
  ])(
    'imposed by an instance that cannot reach Redis and is then killed is restored in Redis by %s',
    async (_, starts) => {
      const { bench, one, other } = await bannedApart();
      await using _bench = bench;
      await kill(one);
      if (starts) await bench.open();
      await until(() => isBanned(other));
    },
  );

  test('imposed by an instance that cannot reach Redis is listed and can be lifted by the others', async () => {
    const { bench, one, other } = await bannedApart();
    await using _ = bench;
    expect((await other.store.limits.bans()).map(({ keyId }) => keyId)).toEqual([caller.keyId]);
    expect(await other.store.limits.lift(caller.keyId)).toBe(true);
    await until(() => isAdmitted(one));
    expect(await isAdmitted(other)).toBe(true);
  });

  test('that has ended in Redis is neither listed nor restored, even if its saved end is later because the clock was set back', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    await ban(one, bench.clock);
    await until(() => isSaved(bench));
    bench.clock.step(-60);
    expect(await isBanned(other)).toBe(true);
    bench.clock.advance(strictRules.ban.firstBanSeconds);
    await using third = await bench.open();
    expect(await other.store.limits.bans()).toEqual([]);
    expect(await isAdmitted(third)).toBe(true);
  });

  test('that has ended is never imposed again, even if the clock is set back by more than the time for which bans are remembered', async () => {
    const { bench, one } = await open();
    await using _ = bench;
    await ban(one, bench.clock);
    await until(() => isSaved(bench));
    bench.clock.advance(strictRules.ban.firstBanSeconds);
    expect(await isAdmitted(one)).toBe(true);
    const step = strictRules.ban.forgivenAfterSeconds + 3_600;
    bench.clock.step(-step);
    // This ban ends before the first one.
    await ban(one, bench.clock);
    bench.clock.advance(2 * strictRules.ban.firstBanSeconds);
    await using third = await bench.open();
    const hasEnded = async () => {
      const second = Math.ceil(bench.clock.now() / 1_000);
      return (
        (await bench.sql`SELECT FROM ban_snapshots WHERE banned_until <= ${second} AND ban_level = 1`)
          .length === 1
      );
    };
    await until(hasEnded);
    expect(await isAdmitted(third)).toBe(true);
    bench.clock.advance(step - strictRules.ban.firstBanSeconds / 2);
    await using fourth = await bench.open();
    expect(await fourth.store.limits.bans()).toEqual([]);
    expect(await isAdmitted(fourth)).toBe(true);
  });

  test('that was forgiven is not imposed again, even if the clock is set back and a ban of a lower level is imposed', async () => {
    const { bench, one } = await open();
    await using _ = bench;
    const { firstBanSeconds, forgivenAfterSeconds } = strictRules.ban;
    await ban(one, bench.clock);
    bench.clock.advance(firstBanSeconds);
    await ban(one, bench.clock);
    await until(async () => (await bench.sql`SELECT FROM ban_snapshots WHERE ban_level = 1`).length === 1);
    bench.clock.advance(2 * firstBanSeconds + forgivenAfterSeconds + 60);
    bench.clock.step(-2 * forgivenAfterSeconds);
    await ban(one, bench.clock);
    bench.clock.advance(firstBanSeconds);
    await using third = await bench.open();
    await until(async () => (await bench.sql`SELECT FROM ban_snapshots WHERE ban_level = 0`).length === 1);
    expect(await isAdmitted(third)).toBe(true);
  });

  test.each([
    ['forward before the ban', 3, 0],
    ['back after the ban', 0, -90],
  ])(
    'imposed by an instance that cannot reach Redis is restored even if Redis has an earlier ban of the key and its clock was set %s',
    async (_, before, after) => {
      const { bench, one, other } = await open();
      await using _bench = bench;
      await ban(one, bench.clock);
      await until(() => isSaved(bench));
      bench.clock.advance(strictRules.ban.firstBanSeconds);
      bench.clock.step(before);
      expect(await isAdmitted(other)).toBe(true);
      await cutOff(one);
      await ban(one, bench.clock);
      await until(async () => (await bench.sql`SELECT FROM ban_snapshots WHERE ban_level = 1`).length === 1);
      bench.clock.step(after);
      await kill(one);
      await using _third = await bench.open();
      await until(() => isBanned(other));
    },
  );

  test('is restored only once if Redis lost it and its clock was set back', async () => {
    const { bench, one } = await open();
    await using _ = bench;
    await ban(one, bench.clock);
    await until(() => isSaved(bench));
    await bench.empty();
    bench.clock.step(-3_600);
    await using third = await bench.open();
    await until(() => isBanned(third));
    bench.clock.advance(strictRules.ban.firstBanSeconds);
    expect(await third.store.limits.bans()).toEqual([]);
    await using fourth = await bench.open();
    expect(await isAdmitted(fourth)).toBe(true);
  });

  test('imposed while PostgreSQL is unavailable is saved as soon as PostgreSQL is back', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    await kill(other);
    await take(one.store);
    await one.postgres.cut();
    await until(() => one.notices.some((text) => text.startsWith('degraded: PostgreSQL unavailable')));
    await ban(one, bench.clock);
    await one.postgres.heal();
    await until(() => one.notices.includes('PostgreSQL available again'));
    await until(() => isSaved(bench), soonMs);
  });

  test('is not saved again after it has been lifted, even by an instance that did not know this', async () => {
    const { bench, one, other } = await open();
    await using _ = bench;
    await take(one.store);
    await one.postgres.cut();
    await until(() => one.notices.some((text) => text.startsWith('degraded: PostgreSQL unavailable')));
    await ban(one, bench.clock);
    await until(() => isSaved(bench));
    expect(await other.store.limits.lift(caller.keyId)).toBe(true);
    await one.postgres.heal();
    await until(
      async () => (await Promise.resolve(one.store.limits.bans()).catch(() => ['unknown'])).length === 0,
    );
    expect(await isSaved(bench)).toBe(false);
    expect(await isAdmitted(one)).toBe(true);
    expect(await isAdmitted(other)).toBe(true);
  });
});

describe.skipIf(servers === undefined)('lifting a ban', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  /** Creates two instances and a saved ban. */
  const banned = async () => {
    const bench = await limitBench(there);
    const [one, other] = [await bench.open(), await bench.open()];
    await ban(other, bench.clock);
    await until(() => isSaved(bench));
    return { bench, one, other };
  };

  test('succeeds on an instance that cannot reach Redis, and ends the ban on every instance', async () => {
    const { bench, one, other } = await banned();
    await using _ = bench;
    await cutOff(one);
    expect(await one.store.limits.lift(caller.keyId)).toBe(true);
    // By the time `lift` resolves, the other instances have learned of the change.
    expect(await isAdmitted(other)).toBe(true);
    expect(await isAdmitted(one)).toBe(true);
    await reconnect(one);
    expect(await isAdmitted(one)).toBe(true);
    expect(await other.store.limits.bans()).toEqual([]);
  });

  test('succeeds if Redis does not respond', async () => {
    const { bench, one, other } = await banned();
    await using _ = bench;
    one.redis.holdAnswersTo(`${caller.keyId}:${caller.accountId}`);
    expect(await one.store.limits.lift(caller.keyId)).toBe(true);
    expect(await isAdmitted(other)).toBe(true);
  });

  test('takes effect on an instance that cannot reach PostgreSQL as soon as the instance that lifted the ban reaches Redis again', async () => {
    const { bench, one, other } = await banned();
    await using _ = bench;
    await one.redis.cut();
    await other.postgres.cut();
    await until(() => one.notices.length > 0 && other.notices.length > 0);
    expect(await one.store.limits.lift(caller.keyId)).toBe(true);
    expect(await isAdmitted(one)).toBe(true);
    // The instance that cannot reach PostgreSQL still enforces the ban.
    expect(await isBanned(other)).toBe(true);
    await reconnect(one);
    await until(() => isAdmitted(other), soonMs);
  });

  test('has an unknown outcome if PostgreSQL commits but does not respond, and still ends the ban on all instances', async () => {
    const { bench, one, other } = await banned();
    await using _ = bench;
    const session = await bench.sql.reserve();
    await session`BEGIN`;
    await session`SELECT FROM counters WHERE name = 'keys' FOR UPDATE`;
    const outcome = Promise.resolve(one.store.limits.lift(caller.keyId)).catch((error) => error);
    await lockAwaited(session);
    one.postgres.hold('answers');
    await session`COMMIT`;
    session.release();
    await until(async () => !(await isSaved(bench)));
    one.postgres.drop();
    await one.postgres.heal();
    expect(await outcome).toBeInstanceOf(WriteUncertainError);
    await until(() => isAdmitted(other), soonMs);
    await until(() => isAdmitted(one), soonMs);
  });

  test('does not end a later ban of the same key on any instance', async () => {
    const { bench, one, other } = await banned();
    await using _ = bench;
    expect(await one.store.limits.lift(caller.keyId)).toBe(true);
    bench.clock.advance(30);
    for (let request = 0; request < 3; request++) await take(other.store);
    await until(async () => {
      bench.clock.advance(1);
      return isBanned(other);
    });
    const second = { ...caller, keyId: 2, accountId: 2 };
    await ban(other, bench.clock, second);
    await until(() => isSaved(bench, 2));
    await using third = await bench.open();
    await kill(other);
    await cutOff(one);
    expect(await one.store.limits.lift(second.keyId)).toBe(true);
    // Once the third instance accepts the second key, it also knows that the first ban was lifted.
    await until(async () => (await take(third.store, second)).errorCode !== 'api_key_banned');
    expect(await isBanned(third)).toBe(true);
  });
});
