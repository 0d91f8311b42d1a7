/** Changes to one heavily contended animal or category succeed, and other requests do not wait for them. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { resolveQuota } from '../../src/domain/plan.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { now, openCatalogue, rename } from '../storage/catalogue-kit.ts';
import { lockAwaited } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';

await describeWithServers('contended changes on PostgreSQL', ({ makeSchema }) => {
  /**
   * A unit of work that lets another session change its animal between the read and the commit, unless the animal is
   * locked.
   */
  const overtaken = () => {
    const beside: { session: SQL | undefined } = { session: undefined };
    const unit = {
      writes: ['pets'],
      run: async ({ pets }: Transaction, id: bigint) => {
        const pet = await pets.find(id);
        await (beside.session as SQL)`
          UPDATE pets SET name = name || '!'
          WHERE id IN (SELECT id FROM pets WHERE id = ${id} FOR UPDATE SKIP LOCKED)`;
        if (pet !== undefined) await pets.replace(pet, { ...pet, name: `${pet.name}?` });
      },
    } as const;
    return { unit, beside };
  };

  test('a change that keeps losing to concurrent changes eventually succeeds, and preserves their effects', async () => {
    const { unit, beside } = overtaken();
    await using store = await openCatalogue(makeSchema, { overtaken: unit }, 1);
    beside.session = store.session;
    const [id = 0n] = await store.add('Rex');
    await store.first.write('overtaken', id as never);
    expect((await store.reads.pets.find(id))?.name).toMatch(/^Rex!+\?$/);
  });

  test("a change that waits for its animal's lock does not delay changes to other animals", async () => {
    await using store = await openCatalogue(makeSchema, {}, 1);
    const [locked = 0n, free = 0n] = await store.add('locked', 'free');
    await store.session`BEGIN`;
    await store.session`SELECT FROM pets WHERE id = ${locked} FOR UPDATE`;
    const waiting = store.first.write('updatePet', rename(locked, 'Max') as never);
    await lockAwaited(store.session);
    await store.first.write('updatePet', rename(free, 'Moritz') as never);
    await store.session`COMMIT`;
    await waiting;
    expect((await store.reads.pets.list()).map(({ name }) => name)).toEqual(['Max', 'Moritz']);
  });

  test('a contended change that the database rejects fails without affecting other changes', async () => {
    const { unit, beside } = overtaken();
    const spoil = {
      writes: ['pets'],
      run: async (by: Transaction, id: bigint) => {
        await unit.run(by, id);
        const pet = await by.pets.find(id);
        if (pet !== undefined) await by.pets.replace(pet, { ...pet, status: 'lost' as never });
      },
    } as const;
    await using store = await openCatalogue(makeSchema, { overtaken: unit, spoil }, 1);
    beside.session = store.session;
    const [one = 0n, two = 0n, three = 0n] = await store.add('one', 'two', 'three');
    const outcomes = await Promise.allSettled([
      store.first.write('overtaken', one as never),
      store.first.write('spoil', two as never),
      store.first.write('overtaken', three as never),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const names = (await store.reads.pets.list()).map(({ name }) => name);
    expect(names).toEqual([
      expect.stringMatching(/\?$/),
      expect.stringMatching(/!$/),
      expect.stringMatching(/\?$/),
    ]);
  });

  const onceFor = (key: string) => ({ once: { accountId: 1, key, request: key }, at: now });
  const petOnce = (key: string) => ['createPetOnce', { input: { body: newPet(key), now }, ...onceFor(key) }];
  const accountOnce = (key: string) => {
    const change = { unit: 'createAccount', input: { name: key, ...resolveQuota('free'), createdAt: now } };
    const { once, at } = onceFor(key);
    return ['audited', { ...change, actor: 'operator:1', at, once: { ...once, sealed: null, at } }];
  };

  test.each([
    ['in one statement', petOnce],
    ['in a transaction', accountOnce],
  ] as const)(
    'changes that wait to store a response for one Idempotency-Key %s block no other key, so that they cannot deadlock',
    async (_, changeOnce) => {
      await using store = await openCatalogue(makeSchema, {}, 1);
      const storeResponse = (key: string) =>
        store.session`
          INSERT INTO idempotent_answers (id, request, status, kept_at) VALUES (${`1:${key}`}, 'other', 200, ${now})`;
      await store.session`BEGIN`;
      await storeResponse('a');
      const changes = ['b', 'a'].map((key) => store.first.write(...(changeOnce(key) as [never, never])));
      await lockAwaited(store.session);
      await store.session`SET LOCAL lock_timeout = 500`;
      await storeResponse('b');
      await store.session`ROLLBACK`;
      await Promise.all(changes);
      expect((await store.session`SELECT id FROM idempotent_answers`).length).toBe(2);
    },
  );

  test('a unit that writes no resource and waits for a lock holds no lock of another unit', async () => {
    const renameAccount = {
      writes: [],
      run: ({ accounts }: Transaction, id: number) => accounts.update(id, { name: 'renamed' }),
    } as const;
    await using store = await openCatalogue(makeSchema, { renameAccount }, 1);
    for (const name of ['one', 'two'])
      await store.first.write('createAccount', { name, ...resolveQuota('free'), createdAt: now });
    await store.session`BEGIN`;
    await store.session`SELECT FROM accounts WHERE id = 2 FOR UPDATE`;
    const renamed = [1, 2].map((id) => store.first.write('renameAccount', id as never));
    await lockAwaited(store.session);
    await store.session`SET LOCAL lock_timeout = 500`;
    await store.session`SELECT FROM accounts WHERE id = 1 FOR UPDATE`;
    await store.session`ROLLBACK`;
    await Promise.all(renamed);
    const names = await store.session`SELECT name FROM accounts ORDER BY id`;
    expect(names.map(({ name }: { name: string }) => name)).toEqual(['renamed', 'renamed']);
  });

  test.each([
    ['deletes', 'deleteCategory', []],
    ['renames', 'putCategory', [{ id: 1n, name: 'Hounds' }]],
  ] as const)(
    'a change that %s a category first waits for the counters, so that adding it again cannot deadlock',
    async (_, unit, stored) => {
      await using store = await openCatalogue(makeSchema, {}, 1);
      const dogs = { params: { categoryId: 1n }, preconditions: {}, now };
      await store.first.write('putCategory', { ...dogs, body: { name: 'Dogs' } } as never);
      await store.session`BEGIN`;
      await store.session`SELECT FROM counters FOR UPDATE`;
      const changed = store.first.write(unit, { ...dogs, body: { name: 'Hounds' } } as never);
      await lockAwaited(store.session);
      await store.session`SET LOCAL lock_timeout = 500`;
      const { errno } = (await rejectionOf(
        store.session`INSERT INTO categories (id, name) VALUES (1, 'Dogs')`.execute(),
      )) as SQL.PostgresError;
      // Not a lock timeout (55P03): the deadlock would end after a second.
      expect(errno).toBe('23505');
      await store.session`ROLLBACK`;
      await changed;
      expect([...(await store.session`SELECT id, name FROM categories`)]).toEqual([...stored]);
    },
  );
});
