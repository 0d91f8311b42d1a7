import { expect } from 'bun:test';
import type { Caller } from '../../src/domain/caller.ts';
import type { LimitStore } from '../../src/limits/limit-store.ts';
import type { UnitWriter } from '../../src/operations/units.ts';
import { until } from '../support/wait.ts';
import { nextTurn, type StoreTest, strictRules } from './place.ts';
import { callerWith, enterprise, newKey } from './samples.ts';

const quota = { perMinute: 4, perDay: 10 };

async function callersOf(store: UnitWriter, count: number): Promise<Caller[]> {
  const { id: accountId } = await enterprise(store, quota);
  const callers: Caller[] = [];
  for (let index = 0; index < count; index++) {
    const { id: keyId } = await store.write('createKey', newKey(accountId, `key ${index}`));
    callers.push(callerWith({ keyId, accountId, plan: 'enterprise', quota }));
  }
  return callers;
}

async function take(limits: LimitStore, caller: Caller | undefined) {
  if (caller === undefined) throw new Error('There is no caller to take for.');
  const { callers } = await limits.versions();
  const { verdict } = await limits.take(caller, callers);
  if (verdict === undefined) throw new Error('The version just read is stale already.');
  return verdict;
}

export function limitStoreConforms(check: StoreTest): void {
  check('concurrent requests are all counted', async ({ store }) => {
    const [caller] = await callersOf(store, 1);
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => take(store.limits, caller)));
    expect(verdicts.filter(({ errorCode }) => errorCode === undefined).length).toBe(quota.perMinute);
  });

  check(
    'a request whose caller was read at an older version is neither checked nor counted',
    async ({ store, beside }) => {
      const [caller] = await callersOf(store, 1);
      const before = await store.limits.versions();
      await (await beside()).write('createKey', newKey((caller as Caller).accountId, 'another'));
      await nextTurn();
      for (let index = 0; index < 9; index++) {
        const { verdict, versions } = await store.limits.take(caller as Caller, before.callers);
        expect(verdict).toBeUndefined();
        expect(versions.callers).toBeGreaterThan(before.callers);
      }
      expect((await take(store.limits, caller)).remaining).toBe(3);
    },
  );

  check(
    'a failed authentication checked at an older version of the callers is not counted',
    async ({ store, beside }) => {
      const [caller] = await callersOf(store, 1);
      const { callers: before } = await store.limits.versions();
      expect((await store.limits.failUnder('192.0.2.1', before))?.state.remaining).toBe(4);
      await (await beside()).write('createKey', newKey((caller as Caller).accountId, 'another'));
      await nextTurn();
      expect(await store.limits.failUnder('192.0.2.1', before)).toBeUndefined();
      expect((await store.limits.peek('192.0.2.1')).remaining).toBe(4);
      const { callers: after } = await store.limits.versions();
      expect((await store.limits.failUnder('192.0.2.1', after))?.state.remaining).toBe(3);
    },
  );

  check(
    'a ban applies to a single key, is listed, and ends when another connection lifts it',
    async (bench) => {
      const { store, clock, beside } = bench;
      const [one, two] = await callersOf(store, 2);
      const operator = await beside();
      for (let index = 0; index <= quota.perMinute; index++) await take(store.limits, one);
      clock.advance(1);
      for (let strike = 0; strike < strictRules.ban.strikes; strike++) await take(store.limits, one);
      expect((await take(store.limits, one)).errorCode).toBe('api_key_banned');
      expect((await take(store.limits, two)).errorCode).toBe('rate_limit_exceeded');

      const keyId = (one as Caller).keyId;
      const bannedUntil = clock.seconds + strictRules.ban.firstBanSeconds;
      expect(await operator.limits.bans()).toEqual([{ keyId, bannedUntil, level: 0 }]);
      expect(await operator.limits.lift((two as Caller).keyId)).toBe(false);
      expect(await operator.limits.lift(keyId)).toBe(true);
      expect(await operator.limits.lift(keyId)).toBe(false);
      // Waits, because an instance also lists bans that it has not saved yet.
      await until(async () => (await store.limits.bans()).length === 0);
      await nextTurn();
      expect((await take(store.limits, one)).errorCode).toBe('rate_limit_exceeded');
      clock.advance(60);
      expect((await take(store.limits, one)).errorCode).toBeUndefined();
    },
  );

  check("a key's limit status shows its strikes and bans until the ban is lifted", async (bench) => {
    const { store, clock, beside } = bench;
    const [caller] = (await callersOf(store, 1)) as [Caller];
    const operator = await beside();
    const none = { strikes: 0, bans: 0, lastBan: undefined, nextBanSeconds: 120 };
    const isShown = async (expected: object) => {
      for (const { limits } of [store, operator])
        expect((await limits.standing(caller)).bans).toEqual({ ...none, ...expected });
    };
    for (let index = 0; index <= quota.perMinute; index++) await take(store.limits, caller);
    clock.advance(1);
    for (let strike = 1; strike < strictRules.ban.strikes; strike++) await take(store.limits, caller);
    await isShown({ strikes: strictRules.ban.strikes - 1 });
    await take(store.limits, caller);
    const lastBan = { from: clock.seconds, until: clock.seconds + 120 };
    await isShown({ bans: 1, lastBan, nextBanSeconds: 240 });
    expect(await operator.limits.lift(caller.keyId)).toBe(true);
    await isShown({});
  });

  check('counts are exact after a restart', async ({ store, clock, restart }) => {
    const [caller] = await callersOf(store, 1);
    for (let index = 0; index < 3; index++) await take(store.limits, caller);
    clock.advance(2);
    const { minute, day } = await take((await restart()).limits, caller);
    expect([minute.remaining, day.remaining, minute.secondsLeft]).toEqual([0, 6, 58]);
  });

  check('strikes, bans and ban levels survive a restart', async ({ store, clock, restart }) => {
    const [caller] = await callersOf(store, 1);
    for (let index = 0; index <= quota.perMinute; index++) await take(store.limits, caller);
    clock.advance(1);
    for (let strike = 1; strike < strictRules.ban.strikes; strike++) await take(store.limits, caller);
    const struck = await restart();
    // The episode of rejections is not durable and may be lost. In that case, the first rejection starts a new episode.
    await take(struck.limits, caller);
    clock.advance(1);
    await take(struck.limits, caller);
    expect((await take(struck.limits, caller)).errorCode).toBe('api_key_banned');
    const bans = await struck.limits.bans();
    const banned = await restart();
    expect(await banned.limits.bans()).toEqual(bans);
    expect((await take(banned.limits, caller)).resetAt).toBe(bans[0]?.bannedUntil ?? 0);
  });

  for (const stepSeconds of [-3_600, 1]) {
    check(
      `a clock change of ${stepSeconds} s shifts every Reset by the same amount, but does not change the length of a window or a ban`,
      async ({ store, clock, restart }) => {
        const [one, two] = await callersOf(store, 2);
        for (let index = 0; index <= quota.perMinute; index++) await take(store.limits, one);
        clock.advance(1);
        for (let strike = 0; strike < strictRules.ban.strikes; strike++) await take(store.limits, one);
        for (const phase of [0.001, 20.5, 38.498]) {
          clock.advance(phase);
          clock.step(stepSeconds);
          const refused = await take(store.limits, two);
          expect(refused.errorCode).toBe('rate_limit_exceeded');
          expect(refused.resetAt).toBe(Math.ceil(clock.now() / 1_000) + refused.retryAfterSeconds - 1);
          expect(refused.minute.resetAt).toBe(refused.resetAt);
        }
        clock.step(stepSeconds);
        clock.advance(0.001);
        // The one-minute window has ended, but the daily window and the ban have not, even in other processes.
        const { minute, day } = await take(store.limits, two);
        expect([minute.remaining, day.remaining]).toEqual([
          quota.perMinute - 1,
          quota.perDay - quota.perMinute - 1,
        ]);
        const banned = { keyId: one?.keyId ?? 0, bannedUntil: clock.seconds + 61, level: 0 };
        expect(await store.limits.bans()).toEqual([banned]);
        const { limits } = await restart();
        expect(await limits.bans()).toEqual([banned]);
        clock.advance(60.999);
        expect(await take(limits, one)).toMatchObject({ errorCode: 'api_key_banned', retryAfterSeconds: 1 });
        clock.advance(0.001);
        expect((await take(limits, one)).errorCode).toBeUndefined();
      },
    );
  }
}
