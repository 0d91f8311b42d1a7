/**
 * Concurrent catalog changes by several instances on PostgreSQL. Changes are computed in memory, and stored only if the
 * rows they are based on have not changed.
 */
import { expect, test } from 'bun:test';
import { ApiError } from '../../src/contract/api-error.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { now, openCatalogue, pausing, rename } from '../storage/catalogue-kit.ts';
import { lockers } from '../storage/postgres-kit.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { until } from '../support/wait.ts';

const preconditions = {};

const orderFor = (petId: bigint) => ({ body: { petId }, now });
const onceFor = (key: string) => ({ accountId: 1, key, request: 'r' });
const refusalOf = (done: Promise<unknown> | undefined) =>
  done?.then(
    () => 'done',
    (error) => (error instanceof ApiError ? error.code : error),
  );

await describeWithServers('changes to the catalog on PostgreSQL', ({ makeSchema }) => {
  const opened = <All extends Units>(
    registry: All,
    instances?: number,
    announced?: (index: number) => Promise<void>,
  ) => openCatalogue(makeSchema, registry, instances, announced);

  /** Two instances. The announcements of the first instance can be delayed. */
  const openedWithHeld = () => {
    let hold = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const announced = async (index: number) => (hold && index === 0 ? promise : undefined);
    return { store: opened({}, 2, announced), hold: () => (hold = true), release: resolve };
  };

  test('a unit of work runs again if another instance has changed the animal since it was read', async () => {
    const slow = pausing(async ({ pets }, id: bigint, pause) => {
      const pet = await pets.find(id);
      await pause();
      if (pet !== undefined) await pets.replace(pet, { ...pet, name: `${pet.name}!` });
    });
    await using store = await opened({ slow: slow.unit });
    const [id = 0n] = await store.add('Rex');
    const slowly = store.first.write('slow', id as never);
    await slow.reached;
    await store.second.write('updatePet', rename(id, 'Max') as never);
    slow.goOn();
    await slowly;
    expect(await store.reads.pets.find(id)).toMatchObject({ name: 'Max!' });
    expect(slow.runs()).toBe(2);
  });

  test('no lock is held between the reads of a unit of work and its commit', async () => {
    const slow = pausing(async ({ pets }, id: bigint, pause) => {
      const pet = await pets.find(id);
      await pause();
      if (pet !== undefined) await pets.replace(pet, { ...pet, name: 'renamed' });
    });
    await using store = await opened({ slow: slow.unit });
    const [id = 0n] = await store.add('Rex');
    const slowly = store.first.write('slow', id as never);
    await slow.reached;
    expect(await lockers(store.session)).toEqual([]);
    slow.goOn();
    await slowly;
  });

  test('only one of many orders for the same animal, sent to two instances, is placed', async () => {
    await using store = await opened({});
    const [id = 0n] = await store.add('Rex');
    const writers = [store.first, store.second];
    const orders = Array.from({ length: 40 }, (_, index) =>
      refusalOf(writers[index % 2]?.write('placeOrder', orderFor(id) as never)),
    );
    const outcomes = await Promise.all(orders);
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(['done', 'pet_not_available']));
    expect(await store.reads.orders.list()).toHaveLength(1);
  });

  test('an animal locked by another transaction does not delay changes to other animals in the same group', async () => {
    await using store = await opened({}, 1);
    const [locked = 0n, free = 0n] = await store.add('locked', 'free');
    await store.session`BEGIN`;
    await store.session`SELECT FROM pets WHERE id = ${locked} FOR UPDATE`;
    let isDone = false;
    const waiting = store.first.write('placeOrder', orderFor(locked) as never).then(() => {
      isDone = true;
    });
    await store.first.write('placeOrder', orderFor(free) as never);
    expect(isDone).toBe(false);
    await store.session`COMMIT`;
    await waiting;
    expect(await store.reads.orders.list()).toHaveLength(2);
  });

  test('only one of two instances that create the same category succeeds', async () => {
    const put = { params: { categoryId: 7n }, preconditions: { isNew: true }, now } as const;
    const slow = pausing(async (by, name: string, pause) => {
      const before = await by.categories.find(7n);
      await pause();
      if (before !== undefined) throw new ApiError('precondition_failed');
      await by.categories.put({ id: 7n, name });
    });
    await using store = await opened({ slow: slow.unit });
    const slowly = refusalOf(store.first.write('slow', 'Dogs' as never));
    await slow.reached;
    await store.second.write('putCategory', { ...put, body: { name: 'Cats' } } as never);
    slow.goOn();
    expect(await slowly).toBe('precondition_failed');
    expect(await store.reads.categories.list()).toEqual([{ id: 7n, name: 'Cats' }]);
  });

  test("a unit of work that looked for an animal's open order runs again if an order is placed before its commit", async () => {
    const slow = pausing(async ({ orders, categories }, petId: bigint, pause) => {
      const open = await orders.findBy('open', petId);
      await pause();
      await categories.put({ id: 1n, name: open === undefined ? 'free' : 'reserved' });
    });
    await using store = await opened({ slow: slow.unit });
    const [id = 0n] = await store.add('Rex');
    const slowly = store.first.write('slow', id as never);
    await slow.reached;
    await store.second.write('placeOrder', orderFor(id) as never);
    slow.goOn();
    await slowly;
    expect(await store.reads.categories.find(1n)).toEqual({ id: 1n, name: 'reserved' });
  });

  test('a request retried on another instance before the first attempt commits is applied exactly once', async () => {
    await using store = await opened({});
    const [id = 0n] = await store.add('Rex');
    const input = { operationId: 'placeOrder', input: orderFor(id), once: onceFor('k'), at: now };
    const writers = [store.first, store.second];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => writers[index % 2]?.write('once', input as never)),
    );
    const bodies = answers.map((answer) => (answer as unknown as { body: string }).body);
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toStartWith('{"id":1,');
    expect(
      answers.filter((answer) => !(answer as unknown as { isReplayed: boolean }).isReplayed),
    ).toHaveLength(1);
    expect(await store.reads.orders.list()).toHaveLength(1);
  });

  test('a unit of work that reads a row added by another unit in its group runs after the commit', async () => {
    const put = {
      writes: ['categories'],
      run: ({ categories }: Transaction) => categories.put({ id: 1n, name: 'Dogs' }),
    } as const;
    const look = {
      writes: ['categories'],
      run: ({ categories }: Transaction) => categories.find(1n),
    } as const;
    await using store = await opened({ put, look }, 1);
    const [, found] = await Promise.all([
      store.first.write('put', undefined as never),
      store.first.write('look', undefined as never),
    ]);
    expect(found).toEqual({ id: 1n, name: 'Dogs' } as never);
  });

  test('a rejection based on several rows is verified before it is returned', async () => {
    const slow = pausing(async ({ pets, categories }, id: bigint, pause) => {
      const pet = await pets.find(id);
      await pause();
      const category = await categories.find(1n);
      if ((pet?.name === 'Max') !== (category !== undefined)) throw new ApiError('pet_not_found');
    });
    await using store = await opened({ slow: slow.unit });
    const [id = 0n] = await store.add('Rex');
    const slowly = refusalOf(store.first.write('slow', id as never));
    await slow.reached;
    const category = { params: { categoryId: 1n }, body: { name: 'Dogs' }, preconditions, now };
    await store.second.write('updatePet', rename(id, 'Max') as never);
    await store.second.write('putCategory', category as never);
    slow.goOn();
    expect(await slowly).toBe('done');
  });

  const keyed = (id: bigint) => ({
    operationId: 'placeOrder',
    input: orderFor(id),
    once: onceFor('k'),
    at: now,
  });
  const acknowledged = {
    'a replayed request': { write: 'once', input: keyed, resources: ['orders', 'pets'] },
    'a change without effect': {
      write: 'updatePet',
      input: (id: bigint) => rename(id, 'Max'),
      resources: ['pets'],
    },
  } as const;

  for (const [name, { write, input, resources }] of Object.entries(acknowledged)) {
    test(`another instance announces the original change before it responds to ${name}`, async () => {
      const { store: opening, hold, release } = openedWithHeld();
      await using store = await opening;
      const [id = 0n] = await store.add('Rex');
      hold();
      const first = store.first.write(write, input(id) as never);
      const committed = async () => {
        const [row] = await store.session`SELECT count(*) AS changed FROM unnumbered_events`;
        return row.changed > 1n;
      };
      await until(committed);
      store.announcements.length = 0;
      await store.second.write(write, input(id) as never);
      const announced = [...store.announcements];
      release();
      await first;
      const versions: { name: string; version: bigint }[] =
        await store.session`SELECT name, version FROM counters`;
      const expected = versions.filter((each) => (resources as readonly string[]).includes(each.name));
      expect(announced).toEqual(
        expect.arrayContaining(expected.map((each) => [each.name, Number(each.version)])),
      );
    });
  }
});
