import { expect } from 'bun:test';
import type { Versions } from '../../src/domain/resources.ts';
import type { Store } from '../../src/operations/units.ts';
import { nextTurn, type StoreTest } from './place.ts';
import { enterprise, newKey, newPet } from './samples.ts';

const tiny = { perMinute: 1, perDay: 2 };

async function versionsNow({ limits }: Store): Promise<Versions> {
  await nextTurn();
  return limits.versions();
}

export function versionsConform(check: StoreTest): void {
  // unit-effects.test.ts checks which versions a unit of work increments.
  check('changes by any connection increment the versions immediately', async ({ store, beside }) => {
    for (const by of [store, await beside()]) {
      const before = await versionsNow(store);
      const { id } = await enterprise(by, tiny);
      await by.write('createKey', newKey(id, `first of ${id}`));
      await by.write('createPet', { now: 0, body: newPet('Ozzy') });
      const after = await versionsNow(store);
      expect([after.callers > before.callers, after.pets > before.pets]).toEqual([true, true]);
    }
  });

  check('reading and counting do not increment a version', async ({ store }) => {
    const { id: accountId } = await enterprise(store, tiny);
    await store.write('createKey', newKey(accountId, 'first'));
    const before = await versionsNow(store);
    await store.keys.findCaller('first');
    await store.pets.list(0n, 10);
    await store.limits.fail('192.0.2.1');
    expect(await versionsNow(store)).toEqual(before);
  });
}
