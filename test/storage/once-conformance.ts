/** Animals that are added once, however often they are asked for (`Idempotency-Key`). */
import { expect } from 'bun:test';
import { keptForMs, type OnceOutcome } from '../../src/operations/changes/once.ts';
import type { Store } from '../../src/operations/units.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

const at = 1_800_000_000_000;

/** Asks for an animal of this name, which is what is asked for. */
function added(store: Store, key: string, { name = 'Ozzy', now = at, accountId = 1 } = {}) {
  const input = { params: {}, preconditions: {}, body: newPet(name), now };
  return store.write('createPetOnce', { input, once: { accountId, key, request: name } });
}

const isReplayed = (outcome: OnceOutcome) => (typeof outcome === 'string' ? outcome : outcome.isReplayed);

const names = async (store: Store) => (await store.pets.list(0n, 99)).map(({ name }) => name);

export function onceConforms(check: StoreTest): void {
  check('many at the same time are done in their order, each with its own answer', async ({ store }) => {
    const asked = Array.from({ length: 40 }, (_, index) => `animal ${index}`);
    const outcomes = await Promise.all(asked.map((name) => added(store, name, { name })));
    expect(await names(store)).toEqual(asked);
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome).toMatchObject({ status: 201, location: `/pets/${index + 1}`, isReplayed: false });
      expect((outcome as { body: string }).body).toContain(`"animal ${index}"`);
    }
    const again = await Promise.all(asked.map((name) => added(store, name, { name })));
    expect(again).toEqual(outcomes.map((outcome) => ({ ...(outcome as object), isReplayed: true }) as never));
    expect((await store.pets.inventory()).available).toBe(40);
  });

  check('of the same key at the same time the first one is done', async ({ store }) => {
    const together = await Promise.all([
      added(store, 'key'),
      added(store, 'other', { name: 'Kiki' }),
      added(store, 'key'),
      added(store, 'key', { name: 'Rex' }),
    ]);
    expect(together.map(isReplayed)).toEqual([false, false, true, 'idempotency_key_reused']);
    expect(await names(store)).toEqual(['Ozzy', 'Kiki']);
    expect(isReplayed(await added(store, 'key', { name: 'Rex' }))).toBe('idempotency_key_reused');
  });

  check('the key of one account is never that of another, however their texts join', async ({ store }) => {
    const together = await Promise.all(
      ['0', '00', ':0', '0:0'].flatMap((key) => [3, 30].map((accountId) => added(store, key, { accountId }))),
    );
    expect(together.map(isReplayed)).toEqual(Array(8).fill(false));
  });

  check('an answer that is not kept any more is no answer', async ({ store }) => {
    await added(store, 'key');
    expect(isReplayed(await added(store, 'key', { now: at + keptForMs }))).toBe(true);
    expect(isReplayed(await added(store, 'key', { now: at + keptForMs + 1 }))).toBe(false);
    expect(await names(store)).toEqual(['Ozzy', 'Ozzy']);
  });
}
