import { expect } from 'bun:test';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';
import { shopUnits, walk } from './shop-units.ts';

export function categoriesConform(check: StoreTest): void {
  check('a category is there once it is put, renamed when it is put again', async ({ store, besideWith }) => {
    const { write } = await besideWith(shopUnits);
    expect(await store.categories.find(7n)).toBeUndefined();
    await write('putCategory', { id: 7n, name: 'Dogs' });
    expect(await store.categories.find(7n)).toEqual({ id: 7n, name: 'Dogs' });
    await write('putCategory', { id: 7n, name: 'Hounds \u2028 "猫"' });
    expect(await write('findCategory', 7n)).toEqual({ id: 7n, name: 'Hounds \u2028 "猫"' });
    expect(await store.categories.list(undefined, 10)).toEqual([{ id: 7n, name: 'Hounds \u2028 "猫"' }]);
  });

  check('they are listed by ascending id from the lowest int64 to the highest', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    const ids = [int64Min, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, int64Max];
    for (const id of [...ids].reverse()) await write('putCategory', { id, name: `${id}` });
    const { categories } = store;
    for (const limit of [1, 2, 100]) {
      const listed = await walk(undefined, limit, (after, most) => categories.list(after, most));
      expect(listed).toEqual(ids.map((id) => ({ id, name: `${id}` })));
    }
    expect(await categories.list(int64Max, 10)).toEqual([]);
    expect((await categories.list(int64Min, 1))[0]?.id).toBe(-(2n ** 53n) - 1n);
  });

  check('one that is removed is gone, and its animals keep their category', async ({ store, besideWith }) => {
    const { write } = await besideWith(shopUnits);
    await write('putCategory', { id: 7n, name: 'Dogs' });
    const [pet] = await write('addPets', [newPet('Ozzy', 'available', 7n)]);
    await write('removeCategory', 7n);
    expect(await store.categories.find(7n)).toBeUndefined();
    expect(await write('findCategory', 7n)).toBeUndefined();
    expect(await store.categories.list(undefined, 10)).toEqual([]);
    expect(await store.pets.find(pet?.id ?? 0n)).toEqual(pet);
  });
}
