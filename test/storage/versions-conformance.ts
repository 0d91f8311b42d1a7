import { expect } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import type { Versions } from '../../src/domain/resources.ts';
import type { Store } from '../../src/operations/units.ts';
import { nextTurn, type StoreTest } from './place.ts';
import { enterprise, newKey, newPet } from './samples.ts';

const tiny = { perMinute: 1, perDay: 2 };

async function versionsNow({ limits }: Store): Promise<Versions> {
  await nextTurn();
  return limits.versions();
}

/** Runs each change and expects the version of the service's store to rise with it. */
async function expectRises(
  store: Store,
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
async function callerChanges(by: Store): Promise<Record<string, () => unknown>> {
  const { id: accountId } = await enterprise(by, tiny);
  const key = (name: string) => newKey(accountId, `${name} of ${accountId}`);
  const first = await by.write('createKey', key('first'));
  const second = await by.write('createKey', key('second'));
  return {
    'a plan': () => by.write('updateAccount', { id: accountId, limits: { plan: 'pro', quota: plans.pro } }),
    'a revocation': () => by.write('revokeKey', { id: first.id, at: 1_700_000_000_000 }),
    'a rotation': () =>
      by.write('rotateKey', {
        oldId: second.id,
        oldEndsAt: 1_700_000_000_000,
        successor: key('third'),
      }),
  };
}

function petChanges(by: Store): Record<string, () => unknown> {
  const run = { source: 'source', lastLine: 1, added: 1, rejected: 0, finished: true };
  return {
    'an animal': () => by.write('createPet', { body: newPet('Ozzy') }),
    'an import': () => by.write('commitImport', { pets: [newPet('Lu')], run }),
  };
}

export function versionsConform(check: StoreTest): void {
  check('changes of callers count at once, by any connection', async ({ store, beside }) => {
    for (const by of [store, await beside()]) await expectRises(store, 'callers', await callerChanges(by));
  });

  check('changes of pets count at once, by any connection', async ({ store, beside }) => {
    for (const by of [store, await beside()]) await expectRises(store, 'pets', petChanges(by));
  });

  check('reads and counts raise no version', async ({ store }) => {
    const { id: accountId } = await enterprise(store, tiny);
    await store.write('createKey', newKey(accountId, 'first'));
    const before = await versionsNow(store);
    await store.keys.findCaller('first');
    await store.pets.list(0n, 10);
    await store.limits.fail('192.0.2.1');
    expect(await versionsNow(store)).toEqual(before);
  });
}
