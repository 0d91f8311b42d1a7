import { expect } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import { defaultScopes, type Scope, scopes } from '../../src/domain/scope.ts';
import type { UnitWriter } from '../../src/operations/units.ts';
import { rejectionOf } from '../support/rejection.ts';
import type { StoreTest } from './place.ts';
import { callerWith, enterprise, many, newKey } from './samples.ts';

const tiny = { perMinute: 1, perDay: 2 };

export function keysConform(check: StoreTest): void {
  check('a fingerprint identifies its caller, with the quota of the plan', async ({ store }) => {
    const account = await enterprise(store, tiny);
    const lasting = await store.write('createKey', newKey(account.id, 'lasting'));
    const ending = await store.write('createKey', newKey(account.id, 'ending', 1_800_000_000_000));
    const caller = callerWith({ accountId: account.id, plan: 'enterprise', quota: tiny });
    expect(await store.keys.findCaller('lasting')).toEqual({ ...caller, keyId: lasting.id });
    expect(await store.keys.findCaller('ending')).toEqual({
      ...caller,
      keyId: ending.id,
      expiresAt: 1_800_000_000_000,
    });
    expect(await store.keys.findCaller('LASTING')).toBeUndefined();
    await store.write('updateAccount', {
      id: account.id,
      limits: { plan: 'business', quota: plans.business },
    });
    expect((await store.keys.findCaller('lasting'))?.quota).toEqual(plans.business);
  });

  check('the fingerprints of all keys can be read, starting at any id', async ({ store }) => {
    const { keys } = store;
    const { id: accountId } = await enterprise(store, tiny);
    const made: { id: number; fingerprint: string }[] = [];
    for (const fingerprint of ['one', 'two', 'three']) {
      made.push({ id: (await store.write('createKey', newKey(accountId, fingerprint))).id, fingerprint });
    }
    await store.write('revokeKey', { id: made[1]?.id ?? 0, at: 1_700_000_005_000 });
    expect(await keys.fingerprints(0, 2)).toEqual(made.slice(0, 2));
    expect(await keys.fingerprints(made[1]?.id ?? 0, 9)).toEqual(made.slice(1));
    expect(await keys.fingerprints((made[2]?.id ?? 0) + 1, 9)).toEqual([]);
  });

  check('a revoked key is rejected and keeps the time of its first revocation', async ({ store }) => {
    const { keys } = store;
    const { id: accountId } = await enterprise(store, tiny);
    const key = await store.write('createKey', newKey(accountId, 'one'));
    await store.write('createKey', newKey(accountId, 'two'));
    expect(await store.write('revokeKey', { id: key.id, at: 1_700_000_005_000 })).toBe(true);
    expect(await store.write('revokeKey', { id: key.id, at: 1_700_000_009_000 })).toBe(true);
    expect(await keys.findCaller('one')).toBeUndefined();
    expect(await keys.findCaller('two')).toBeDefined();
    expect(await keys.find(key.id)).toEqual({ ...key, revokedAt: 1_700_000_005_000 });
    const unknown = store.write('revokeKey', { id: key.id + 99, at: 1_700_000_005_000 });
    expect(await rejectionOf(unknown)).toMatchObject({ code: 'key_not_found' });
  });

  check(
    'rotation makes the old key expire at the given time, but never later than before',
    async ({ store }) => {
      const { id: accountId } = await enterprise(store, tiny);
      const { keys } = store;
      const lasting = await store.write('createKey', newKey(accountId, 'lasting'));
      const ending = await store.write('createKey', newKey(accountId, 'ending', 1_750_000_000_000));
      const successor = await store.write('rotateKey', {
        oldId: lasting.id,
        oldEndsAt: 1_760_000_000_000,
        successor: newKey(accountId, 'next'),
      });
      await store.write('rotateKey', {
        oldId: ending.id,
        oldEndsAt: 1_760_000_000_000,
        successor: newKey(accountId, 'after'),
      });
      expect((await keys.findCaller('lasting'))?.expiresAt).toBe(1_760_000_000_000);
      expect((await keys.findCaller('ending'))?.expiresAt).toBe(1_750_000_000_000);
      expect((await keys.findCaller('next'))?.keyId).toBe(successor?.id ?? 0);
      expect((await keys.find(lasting.id))?.successorId).toBe(successor?.id ?? 0);
      expect((await keys.findCaller('next'))?.accountId).toBe(accountId);
    },
  );

  check(
    'after concurrent rotations and a revocation, the old key is revoked and has at most one successor',
    async (bench) => {
      const { store, beside } = bench;
      const { id: accountId } = await enterprise(store, tiny);
      const other = await beside();
      for (let round = 0; round < 10; round++) {
        const { id } = await store.write('createKey', newKey(accountId, `old ${round}`));
        const rotate = async (by: UnitWriter, print: string) =>
          by.write('rotateKey', {
            oldId: id,
            oldEndsAt: 1_760_000_000_000,
            successor: newKey(accountId, `${print} ${round}`),
          });
        const [one, two] = await Promise.all([
          rotate(store, 'one'),
          rotate(other, 'two'),
          (async () => other.write('revokeKey', { id, at: 1_700_000_000_200 }))(),
        ]);
        expect([one, two].filter((made) => made !== undefined).length).toBeLessThanOrEqual(1);
        const old = await store.keys.find(id);
        expect(old?.revokedAt).toBe(1_700_000_000_200);
        expect(old?.successorId).toBe((one ?? two)?.id ?? null);
      }
    },
  );
}

export function scopesConform(check: StoreTest): void {
  check('a key has the scopes it was created with, for any selection of scopes', async ({ store }) => {
    const { id: accountId } = await enterprise(store, tiny);
    const selections: Scope[][] = [[], [...scopes], ...scopes.map((scope) => [scope]), [...defaultScopes]];
    for (const [index, given] of selections.entries()) {
      const key = await store.write('createKey', { ...newKey(accountId, `${index}`), scopes: given });
      expect(key.scopes).toEqual(given);
      expect(await store.keys.find(key.id)).toEqual(key);
      expect((await store.keys.findCaller(`${index}`))?.scopes).toEqual(new Set(given));
    }
    expect((await store.keys.list(0, many)).map((key) => key.scopes)).toEqual(selections);
  });
}

export function firstStartConforms(check: StoreTest): void {
  const account = { name: 'default', plan: 'free', createdAt: 1_700_000_000_000 } as const;
  const { accountId: _, ...key } = newKey(0, 'first');

  check('the initial key and its account are created exactly once', async ({ store, beside }) => {
    const other = await beside();
    const made = await Promise.all([store, other].map((by) => by.write('createFirstKey', { account, key })));
    const [accounts, keys] = [await store.accounts.list(undefined, many), await store.keys.list(0, many)];
    expect(accounts).toEqual([
      { id: accounts[0]?.id ?? 0, ...account, quota: plans.free, closedAt: null, note: null },
    ]);
    expect(keys.length).toBe(1);
    expect(made.filter((one) => one !== undefined)).toEqual(keys);
    expect(keys[0]?.accountId).toBe(accounts[0]?.id ?? 0);
    expect(await store.write('createFirstKey', { account, key })).toBeUndefined();
  });

  check(
    'the initial key is created if an interrupted start left an account without a key',
    async ({ store }) => {
      const { id } = await store.write('createAccount', { ...account, quota: plans.free });
      expect((await store.write('createFirstKey', { account, key }))?.accountId).toBe(id);
      expect((await store.accounts.list(undefined, many)).length).toBe(1);
    },
  );

  check('the initial key is not created in a store that already has other accounts', async ({ store }) => {
    await store.write('createAccount', { ...account, name: 'shop', quota: plans.free });
    expect(await store.write('createFirstKey', { account, key })).toBeUndefined();
    expect(await store.keys.list(0, many)).toEqual([]);
    await store.write('createAccount', { ...account, quota: plans.free });
    expect(await store.write('createFirstKey', { account, key })).toBeUndefined();
  });
}
