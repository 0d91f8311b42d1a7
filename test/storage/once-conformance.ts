/** Repeated requests with the same `Idempotency-Key` add only one animal. */
import { expect } from 'bun:test';
import { type IdempotentOutcome, retentionMs } from '../../src/operations/changes/idempotency.ts';
import type { Store } from '../../src/operations/units.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

const at = 1_800_000_000_000;

/** Adds an animal with this name, which is the request body. */
function added(store: Store, key: string, { name = 'Ozzy', now = at, accountId = 1 } = {}) {
  const input = { params: {}, preconditions: {}, body: newPet(name), now };
  return store.write('createPetOnce', { input, once: { accountId, key, request: name }, at: now });
}

const isReplayed = (outcome: IdempotentOutcome) =>
  typeof outcome === 'string' ? outcome : outcome.isReplayed;

const names = async (store: Store) => (await store.pets.list(0n, 99)).map(({ name }) => name);

export function onceConforms(check: StoreTest): void {
  check('concurrent requests are applied in order, and each gets its response', async ({ store }) => {
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

  check(
    'only one of several concurrent requests with the same key is applied, and a request with a different body is rejected',
    async ({ store }) => {
      const together = await Promise.all([
        added(store, 'key'),
        added(store, 'other', { name: 'Kiki' }),
        added(store, 'key'),
        added(store, 'key', { name: 'Rex' }),
      ]);
      expect(together.map(isReplayed)).toEqual([false, false, true, 'idempotency_key_reused']);
      expect(await names(store)).toEqual(['Ozzy', 'Kiki']);
      expect(isReplayed(await added(store, 'key', { name: 'Rex' }))).toBe('idempotency_key_reused');
    },
  );

  check('keys of different accounts never collide', async ({ store }) => {
    const together = await Promise.all(
      ['0', '00', ':0', '0:0'].flatMap((key) => [3, 30].map((accountId) => added(store, key, { accountId }))),
    );
    expect(together.map(isReplayed)).toEqual(Array(8).fill(false));
  });

  check(
    'an expired response is replaced by the response to the next request, which is replayed',
    async ({ store }) => {
      await added(store, 'key');
      const nextAt = at + retentionMs + 1;
      expect(isReplayed(await added(store, 'key', { now: nextAt - 1 }))).toBe(true);
      const next = await added(store, 'key', { now: nextAt });
      expect(next).toMatchObject({ location: '/pets/2', isReplayed: false });
      expect(await added(store, 'key', { now: nextAt })).toEqual({
        ...(next as object),
        isReplayed: true,
      } as never);
      expect(await names(store)).toEqual(['Ozzy', 'Ozzy']);
    },
  );

  check('an expired response that another change has pruned is replaced as well', async ({ store }) => {
    await added(store, 'key');
    const nextAt = at + retentionMs + 1;
    await store.write('pruneResponses', nextAt - retentionMs);
    const next = await added(store, 'key', { now: nextAt });
    expect(next).toMatchObject({ location: '/pets/2', isReplayed: false });
    expect(await added(store, 'key', { now: nextAt })).toEqual({
      ...(next as object),
      isReplayed: true,
    } as never);
  });
}
