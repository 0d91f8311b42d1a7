/** Instances and Redis stay consistent when a clock changes. In these tests, each instance has a separate clock. */

import { expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import type { LimitedStore } from '../../src/app/limited-store.ts';
import { openStore } from '../../src/app/store.ts';
import { defaultBanRules } from '../../src/limits/limit.ts';
import { FakeClock } from '../support/clock.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { patient } from './cluster-place.ts';
import { callerWith } from './samples.ts';

const rules = { ban: defaultBanRules, failuresPerMinute: 600 };
const quota = { perMinute: 2, perDay: 100 };
const caller = callerWith({ quota });

interface Instance {
  /** Wall-clock time comes from Redis, and monotonic time from the instance. */
  readonly clock: FakeClock;
  take(): Promise<{ errorCode: string | undefined; resetAt: number; retryAfterSeconds: number }>;
}

interface Bench extends AsyncDisposable {
  readonly instances: readonly Instance[];
  /** Deletes all data of these instances in Redis. */
  empty(): Promise<void>;
}

await describeWithServers('the Redis clock', (there) => {
  async function open(count: number): Promise<Bench> {
    await using opened = new AsyncDisposableStack();
    const schema = opened.use(await there.makeSchema());
    const redisPrefix = there.makePrefix();
    const client = opened.adopt(new RedisClient(there.redisUrl), (used) => used.close());
    const instances: Instance[] = [];
    for (let index = 0; index < count; index++) {
      const clock = new FakeClock();
      const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix };
      const options = { url: schema.url, clock, rules, isServing: true, cluster };
      const store = opened.use(await openStore(options));
      instances.push({ clock, take: () => take(store) });
      await take(store);
    }
    const kept = opened.move();
    return {
      instances,
      empty: async () => {
        await client.send('DEL', (await client.send('KEYS', [`${redisPrefix}*`])) as string[]);
      },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  test('a clock change that a suspended instance detects by mistake is corrected by the next instance', async () => {
    await using bench = await open(2);
    const [still, going] = bench.instances as [Instance, Instance];
    // Each instance has admitted one request, so the per-minute quota is exhausted.
    for (const seconds of [20, 20, 19]) {
      still.clock.step(seconds);
      going.clock.advance(seconds);
      expect((await still.take()).errorCode).toBe('rate_limit_exceeded');
      expect((await going.take()).errorCode).toBe('rate_limit_exceeded');
    }
    const { retryAfterSeconds, resetAt } = await going.take();
    expect(retryAfterSeconds).toBe(1);
    expect(resetAt).toBe(going.clock.seconds + 1);
    still.clock.step(1);
    going.clock.advance(1);
    await still.take();
    expect((await going.take()).errorCode).toBeUndefined();
  });

  test('a clock change is corrected once, by the first instance to detect it', async () => {
    await using bench = await open(2);
    const [one, other] = bench.instances as [Instance, Instance];
    for (const [seconds, first, second] of [
      [3_600, one, other],
      [-7_200, other, one],
    ] as const) {
      for (const { clock } of bench.instances) {
        clock.advance(10);
        clock.step(seconds);
      }
      for (const instance of [first, second, first]) {
        const { errorCode, resetAt, retryAfterSeconds } = await instance.take();
        expect([errorCode, resetAt]).toEqual([
          'rate_limit_exceeded',
          instance.clock.seconds + retryAfterSeconds,
        ]);
      }
    }
    const { retryAfterSeconds } = await one.take();
    expect(retryAfterSeconds).toBe(40);
    for (const { clock } of bench.instances) clock.advance(40);
    expect((await other.take()).errorCode).toBeUndefined();
  });

  test('earlier clock changes are ignored after Redis has lost its data', async () => {
    await using bench = await open(2);
    const [one, other] = bench.instances as [Instance, Instance];
    for (const { clock } of bench.instances) clock.step(-3_600);
    await one.take();
    await other.take();
    await bench.empty();
    for (const instance of [one, other, one]) {
      const { resetAt } = await instance.take();
      expect(resetAt - instance.clock.seconds).toBeLessThanOrEqual(60);
      expect(resetAt).toBeGreaterThan(instance.clock.seconds);
    }
  });
});

async function take({ limits }: LimitedStore) {
  const { callers } = await limits.versions();
  const { verdict } = await limits.take(caller, callers);
  if (verdict === undefined) throw new Error('The version just read is stale already.');
  return verdict;
}
