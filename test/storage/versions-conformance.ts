import { expect } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import type { Storage, Versions } from '../../src/storage/storage.ts';
import { nextTurn, type StoreTest } from './place.ts';
import { enterprise, newKey, newPet } from './samples.ts';

const tiny = { perMinute: 1, perDay: 2 };

async function versionsNow({ limits }: Storage): Promise<Versions> {
  await nextTurn();
  return limits.versions();
}

/** Runs each change and expects the version of the service's store to rise with it. */
async function expectRises(
  store: Storage,
  version: keyof Versions,
  changes: Record<string, () => unknown>,
): Promise<void> {
  for (const [name, change] of Object.entries(changes)) {
    const before = await versionsNow(store);
    await change();
    const after = await versionsNow(store);
    expect({ name, rose: after[version] > before[version] }).toEqual({ name, rose: true });
  }
}

/** Every change of callers there is, made through `by`. */
async function callerChanges(by: Storage): Promise<Record<string, () => unknown>> {
  const { id: accountId } = await enterprise(by.accounts, tiny);
  const first = await by.keys.create(newKey(accountId, 'first'));
  const second = await by.keys.create(newKey(accountId, 'second'));
  return {
    'a plan': () => by.accounts.setPlan(accountId, 'pro', plans.pro),
    'a revocation': () => by.keys.revoke(first.id, 1_700_000_000_000),
    'a rotation': () => by.keys.rotate(second.id, 1_700_000_000_000, newKey(accountId, 'third')),
  };
}

function petChanges({ pets, imports }: Storage): Record<string, () => unknown> {
  const run = { source: 'source', lastLine: 1, added: 1, rejected: 0, finished: true };
  return {
    'an animal': () => pets.add(newPet('Ozzy')),
    'an import': () => imports.commit([newPet('Lu')], run),
  };
}

export function versionsConform(check: StoreTest): void {
  check('callers: changes of another connection count at once', async ({ store, beside }) => {
    await expectRises(store, 'callers', await callerChanges(await beside()));
  });

  check('callers: changes of the connection itself count at once', async ({ store }) => {
    await expectRises(store, 'callers', await callerChanges(store));
  });

  check('pets: changes of another connection count at once', async ({ store, beside }) => {
    await expectRises(store, 'pets', petChanges(await beside()));
  });

  check('pets: changes of the connection itself count at once', async ({ store }) => {
    await expectRises(store, 'pets', petChanges(store));
  });

  check('nothing rises while nothing changes', async ({ store }) => {
    const { id: accountId } = await enterprise(store.accounts, tiny);
    await store.keys.create(newKey(accountId, 'first'));
    const before = await versionsNow(store);
    await store.keys.findCaller('first');
    await store.pets.list(0n, 10);
    await store.limits.fail('192.0.2.1');
    expect(await versionsNow(store)).toEqual(before);
  });
}
