import { expect } from 'bun:test';
import type { Store } from '../../src/operations/units.ts';
import type { Caller, LimitStore } from '../../src/storage/storage.ts';
import { type StoreTest, strictRules } from './place.ts';
import { callerWith, enterprise, newKey } from './samples.ts';

const quota = { perMinute: 4, perDay: 10 };

async function callerOf(store: Store): Promise<Caller> {
  const { id: accountId } = await enterprise(store, quota);
  const { id: keyId } = await store.write('createKey', newKey(accountId, 'key'));
  return callerWith({ keyId, accountId, plan: 'enterprise', quota });
}

async function take(limits: LimitStore, caller: Caller) {
  const { verdict } = await limits.take(caller, (await limits.versions()).callers);
  if (verdict === undefined) throw new Error('The version just read is stale already.');
  return verdict;
}

const standing = async (limits: LimitStore, caller: Caller) => (await limits.standing(caller)).verdict;

export function standingConforms(check: StoreTest): void {
  check('looking opens no window: they open with the first request', async ({ store, clock }) => {
    const { limits } = store;
    const caller = await callerOf(store);
    for (let look = 0; look < 3; look++) {
      const { refusal, minute, day } = await standing(limits, caller);
      expect([refusal, minute.remaining, day.remaining]).toEqual([undefined, 4, 10]);
      expect([minute.resetAt, day.resetAt]).toEqual([clock.seconds + 60, clock.seconds + 86_400]);
      clock.advance(7);
    }
    expect((await take(limits, caller)).minute.resetAt).toBe(clock.seconds + 60);
    clock.advance(7);
    const { minute, day } = await standing(limits, caller);
    expect([minute.remaining, minute.secondsLeft, day.remaining]).toEqual([3, 53, 9]);
    clock.advance(53);
    expect(await standing(limits, caller)).toMatchObject({ minute: { remaining: 4 }, day: { remaining: 9 } });
  });

  check('looking counts nothing and tells what the next request finds', async ({ store }) => {
    const { limits } = store;
    const caller = await callerOf(store);
    for (let left = 3; left >= 0; left--) {
      const taken = await take(limits, caller);
      expect(taken.minute.remaining).toBe(left);
      for (let look = 0; look < 3; look++) expect(await standing(limits, caller)).toEqual(taken);
    }
    expect((await limits.standing(caller)).versions).toEqual(await limits.versions());
  });

  check('looking at a limited account is no strike, and a ban is told with its end', async (bench) => {
    const { store, clock } = bench;
    const { limits } = store;
    const caller = await callerOf(store);
    for (let index = 0; index <= quota.perMinute; index++) await take(limits, caller);
    clock.advance(2);
    for (let look = 0; look < 3 * strictRules.ban.strikes; look++) {
      expect(await standing(limits, caller)).toMatchObject({ refusal: undefined, remaining: 0 });
    }
    expect(await limits.bans()).toEqual([]);
    for (let strike = 0; strike < strictRules.ban.strikes; strike++) await take(limits, caller);
    const banned = await standing(limits, caller);
    expect(banned.refusal).toBe('api_key_banned');
    expect(banned.resetAt).toBe(clock.seconds + strictRules.ban.firstBanSeconds);
    expect(banned).toEqual(await take(limits, caller));
    clock.advance(strictRules.ban.firstBanSeconds);
    expect((await standing(limits, caller)).refusal).toBeUndefined();
  });

  check('instants are dates, also after the date was set', async ({ store, clock }) => {
    const { limits } = store;
    const caller = await callerOf(store);
    await take(limits, caller);
    clock.step(3_600);
    clock.advance(20);
    expect((await standing(limits, caller)).minute).toMatchObject({
      remaining: 3,
      resetAt: clock.seconds + 40,
      secondsLeft: 40,
    });
  });
}
