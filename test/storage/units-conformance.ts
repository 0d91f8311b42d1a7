import { expect } from 'bun:test';
import { setImmediate as laterTurn } from 'node:timers/promises';
import { ApiError } from '../../src/contract/api-error.ts';
import type { NewPet } from '../../src/contract/pets.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import type { NewKey } from '../../src/tables/accounts.ts';
import type { StoreTest } from './place.ts';
import { many, newKey, newPet } from './samples.ts';
import { raisedBy } from './shop-units.ts';

const account = {
  name: 'shop',
  plan: 'enterprise',
  quota: { perMinute: 1, perDay: 1 },
  createdAt: 1_700_000_000_000,
} as const;

/** Units of work that do not succeed. */
const failingUnits = {
  refuse: {
    writes: [],
    run: () => {
      throw new ApiError('pet_not_found');
    },
  },
  addAndRefuse: {
    writes: ['pets'],
    run: async ({ pets }: Transaction, pet: NewPet) => {
      await pets.add([pet]);
      throw new ApiError('pet_not_found', { message: `not ${pet.name}` });
    },
  },
  addAndFail: {
    writes: ['pets'],
    run: async ({ pets }: Transaction, pet: NewPet) => {
      await pets.add([pet]);
      throw new Error(`no ${pet.name}`);
    },
  },
} as const satisfies Units;

/** Units of work for the tests. `batches` records the number of inputs in each run of the batch. */
function testUnits() {
  const batches: number[] = [];
  const units = {
    addPet: {
      writes: ['pets'],
      all: ({ pets }: Transaction, input: readonly NewPet[]) => {
        batches.push(input.length);
        return pets.add(input);
      },
    },
    /** Reads lists and lookups of several tables. */
    listAll: {
      writes: ['pets', 'categories'],
      run: async ({ pets, orders, categories, storedResponses }: Transaction, pet: NewPet) => {
        const [added] = await pets.add([pet]);
        await categories.put({ id: 7n, name: pet.name });
        const names = (await categories.list()).map(({ name }) => name);
        await storedResponses.prune(0);
        return { id: added?.id, names, orders: (await orders.list(undefined, 5)).length };
      },
    },
    addAlone: {
      writes: ['pets'],
      run: async ({ pets }: Transaction, pet: NewPet) => (await pets.add([pet]))[0],
    },
    /** Yields to the event loop during its work. */
    addSlowly: {
      writes: ['pets'],
      run: async ({ pets }: Transaction, names: readonly string[]) => {
        const ids: (bigint | undefined)[] = [];
        for (const name of names) {
          await laterTurn();
          ids.push((await pets.add([newPet(name)]))[0]?.id);
        }
        return ids;
      },
    },
    openShop: {
      writes: ['pets', 'callers'],
      run: async ({ pets, accounts, keys }: Transaction, prints: readonly string[]) => {
        await pets.add([newPet('mascot')]);
        const { id } = await accounts.add(account);
        for (const print of prints) await keys.add(newKey(id, print));
        return id;
      },
    },
    addKey: { writes: ['callers'], run: ({ keys }: Transaction, key: NewKey) => keys.add(key) },
    ...failingUnits,
  } as const satisfies Units;
  return { units, batches };
}

const namesIn = async ({ pets }: Pick<Storage, 'pets'>) => (await pets.list(0n, 100)).map(({ name }) => name);

const errorOf = (settled: PromiseSettledResult<unknown> | undefined) =>
  settled?.status === 'rejected' ? settled.reason : undefined;

export function unitsConform(check: StoreTest): void {
  apartFromNeighboursConforms(check);
  wholeConforms(check);
  batchesConform(check);
  refusedVersionsConform(check);
}

function apartFromNeighboursConforms(check: StoreTest): void {
  check(
    'a unit that changes the catalog may read lists of any table, and other units are committed at the same time',
    async ({ besideWith, store }) => {
      const { write } = await besideWith(testUnits().units);
      const pets = Array.from({ length: 20 }, (_, index) => newPet(`other ${index}`));
      const [listed, ...others] = await Promise.all([
        write('listAll', newPet('listed')),
        ...pets.map((pet) => write('addAlone', pet)),
      ]);
      expect(listed).toEqual({ id: expect.any(BigInt), names: ['listed'], orders: 0 });
      const ids = [listed.id, ...others.map((pet) => pet?.id)];
      expect(new Set(ids)).toEqual(new Set((await store.pets.list()).map(({ id }) => id)));
      expect(await store.categories.find(7n)).toEqual({ id: 7n, name: 'listed' });
    },
  );

  check(
    'a rejected or failed unit does not prevent the other units of its group from being committed',
    async ({ store, besideWith }) => {
      const { write } = await besideWith(testUnits().units);
      const settled = await Promise.allSettled([
        write('addPet', newPet('one')),
        write('addAndRefuse', newPet('refused')),
        write('addAlone', newPet('two')),
        write('addAndFail', newPet('failed')),
        write('addPet', newPet('three')),
      ]);
      expect(settled.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      const refused = errorOf(settled[1]);
      expect(refused).toBeInstanceOf(ApiError);
      expect(refused).toMatchObject({ code: 'pet_not_found', message: 'not refused' });
      expect(errorOf(settled[3])).toMatchObject({ message: 'no failed' });
      expect((await namesIn(store)).sort()).toEqual(['one', 'three', 'two']);
    },
  );

  check(
    'the writes of a rejected unit of work are rolled back, and its ids are reused',
    async ({ besideWith }) => {
      const other = await besideWith(testUnits().units);
      const [refused] = await Promise.allSettled([other.write('addAndRefuse', newPet('refused'))]);
      expect(errorOf(refused)).toBeInstanceOf(ApiError);
      const [, added] = await Promise.allSettled([
        other.write('addAndRefuse', newPet('refused')),
        other.write('addAlone', newPet('added')),
      ]);
      expect(added).toMatchObject({ status: 'fulfilled', value: { id: 1n } });
      expect(await namesIn(other)).toEqual(['added']);
    },
  );
}

function wholeConforms(check: StoreTest): void {
  check(
    'a unit whose last write violates a constraint changes nothing, alone or in a group',
    async (bench) => {
      const { store, besideWith } = bench;
      const { write } = await besideWith(testUnits().units);
      const [alone] = await Promise.allSettled([write('openShop', ['same', 'same'])]);
      expect(alone?.status).toBe('rejected');
      const [added, violating, opened] = await Promise.allSettled([
        write('addPet', newPet('one')),
        write('openShop', ['same', 'same']),
        write('openShop', ['one', 'two']),
      ]);
      expect([added?.status, violating?.status, opened?.status]).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect((await store.accounts.list(undefined, many)).length).toBe(1);
      expect((await store.keys.list(0, many)).length).toBe(2);
      // The order of concurrent requests is not defined.
      expect((await namesIn(store)).sort()).toEqual(['mascot', 'one']);
    },
  );

  check(
    'a unit that awaits a promise is atomic, and later units run after it',
    async ({ store, besideWith }) => {
      const { write } = await besideWith(testUnits().units);
      const [ids, neighbour] = await Promise.all([
        write('addSlowly', ['one', 'two']),
        write('addPet', newPet('three')),
      ]);
      expect([...ids, neighbour.id]).toEqual([1n, 2n, 3n]);
      expect(await namesIn(store)).toEqual(['one', 'two', 'three']);
    },
  );
}

function batchesConform(check: StoreTest): void {
  check(
    'a batch runs once for all concurrent units, and returns their outcomes in order',
    async ({ besideWith }) => {
      const { units, batches } = testUnits();
      const { write } = await besideWith(units);
      const names = Array.from({ length: 40 }, (_, index) => `${index}`);
      const added = await Promise.all(names.map((name) => write('addPet', newPet(name))));
      expect(batches).toEqual([40]);
      expect(added).toEqual(names.map((name, index) => ({ id: BigInt(index + 1), ...newPet(name) })));
    },
  );

  check(
    'adjacent units of the same kind run as one batch, in the order of arrival',
    async ({ besideWith }) => {
      const { units, batches } = testUnits();
      const { write, pets } = await besideWith(units);
      await Promise.all([
        write('addPet', newPet('one')),
        write('addPet', newPet('two')),
        write('addAlone', newPet('three')),
        write('addPet', newPet('four')),
      ]);
      // A store may run a unit twice.
      expect(batches.slice(-2)).toEqual([2, 1]);
      expect(await namesIn({ pets })).toEqual(['one', 'two', 'three', 'four']);
    },
  );
}

function refusedVersionsConform(check: StoreTest): void {
  check(
    'a rejected unit increments no version, even if other units of its group do',
    async ({ store, besideWith }) => {
      const { write } = await besideWith(testUnits().units);
      const shop = await write('openShop', ['first']);
      const alone = () => Promise.allSettled([write('addAndRefuse', newPet('refused'))]);
      expect(await raisedBy(store, alone)).toEqual([]);
      expect(await raisedBy(store, () => Promise.allSettled([write('refuse', undefined as never)]))).toEqual(
        [],
      );
      const among = () =>
        Promise.allSettled([
          write('addAndRefuse', newPet('refused')),
          write('addKey', newKey(shop, 'second')),
        ]);
      expect(await raisedBy(store, among)).toEqual(['callers']);
    },
  );
}
