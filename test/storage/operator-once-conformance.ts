import { expect } from 'bun:test';
import type { StoreTest } from './place.ts';

const at = 1_700_000_000_000;

/** An operator's request with an `Idempotency-Key` that issues a secret. */
const request = (name: string, sealed: string) => ({
  unit: 'createPet' as const,
  input: {
    params: {},
    body: { name, categoryId: 2n ** 62n, status: 'available' },
    preconditions: {},
    now: at,
  },
  actor: 'operator:anna',
  at,
  once: { accountId: 0, key: 'k'.repeat(64), request: name, sealed, at },
});

export function operatorOnceConforms(check: StoreTest): void {
  check('every retry returns the outcome and the secret of the original request', async (bench) => {
    const { store } = bench;
    const beside = await bench.beside();
    const sent = ['a', 'b', 'c', 'd'].map((sealed, index) =>
      (index % 2 === 0 ? store : beside).write('audited', request('Rex', sealed)),
    );
    const done = await Promise.all(sent);
    const first = done.find(({ isReplayed }) => !isReplayed);
    expect(done.filter(({ isReplayed }) => !isReplayed)).toHaveLength(1);
    expect(first?.outcome).toMatchObject({ id: 1n, name: 'Rex', categoryId: 2n ** 62n });
    for (const { outcome, sealed } of done)
      expect({ outcome, sealed }).toEqual({ outcome: first?.outcome, sealed: first?.sealed ?? null });
    expect((await store.pets.list(0n, 9)).length).toBe(1);
    expect((await store.audit.list(undefined, 9, {})).length).toBe(1);
  });

  check('reusing an Idempotency-Key for another request is rejected', async ({ store }) => {
    await store.write('audited', request('Rex', 'a'));
    const reused = store.write('audited', request('Max', 'b')).catch((error: unknown) => error);
    expect(await reused).toMatchObject({ code: 'idempotency_key_reused' });
    expect((await store.pets.list(0n, 9)).length).toBe(1);
  });
}
