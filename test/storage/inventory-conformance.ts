import { expect } from 'bun:test';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import type { Inventory, NewPet } from '../../src/contract/pets.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import type { UnitWriter } from '../../src/operations/units.ts';
import type { PetStore } from '../../src/storage/storage.ts';
import { randomFrom } from '../support/random.ts';
import { rejectionOf } from '../support/rejection.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';
import { type Shop, shopUnits, walk } from './shop-units.ts';

const categories = [int64Min, -1n, 0n, 1n, 2n, int64Max];
const nothing: Inventory = { available: 0, pending: 0, sold: 0 };

/** Compares the stored counts with a count of all animals. */
async function expectExact(pets: PetStore): Promise<void> {
  const all = await walk(0n, 100, async (after, limit) => pets.list(after, limit));
  for (const categoryId of [undefined, ...categories, 77n]) {
    const counts = { ...nothing };
    for (const pet of all) if ((categoryId ?? pet.categoryId) === pet.categoryId) counts[pet.status] += 1;
    expect({ categoryId, counts: await pets.inventory(categoryId) }).toEqual({ categoryId, counts });
  }
  const used = [];
  for (const id of categories) used.push({ id, ...(await pets.inventory(id)) });
  const inUse = used.filter(({ available, pending, sold }) => available + pending + sold > 0);
  expect(await pets.categoriesInUse(undefined, 9)).toEqual(inUse);
  expect(await pets.categoriesInUse(-1n, 2)).toEqual(inUse.filter(({ id }) => id > -1n).slice(0, 2));
}

/** Makes a random change. */
async function changeAtRandom(store: UnitWriter, shop: Shop, random: () => number): Promise<void> {
  const among = <Value>(values: readonly Value[]) =>
    values[Math.floor(random() * values.length)] ?? (values[0] as Value);
  const anAnimal = (): NewPet => newPet('Ozzy', among(petStatuses), among(categories));
  const pet = among(await shop.pets.list(0n, 100));
  const kind = pet === undefined ? 0 : random();
  const group = () => Array.from({ length: 1 + Math.floor(random() * 9) }, anAnimal);
  if (kind < 0.3) await shop.write('addPets', group());
  else if (kind < 0.4) await store.write('commitImport', { now: 0, pets: group() });
  else if (kind < 0.7) await shop.write('changePet', { id: pet.id, change: anAnimal() });
  else if (kind < 0.9) await shop.write('removePet', pet.id);
  else await rejectionOf(shop.write('changeAndRefuse', { id: pet.id, change: anAnimal() }));
}

export function inventoryConforms(check: StoreTest): void {
  check('counts are exact after any changes, including rejected ones', async ({ store, besideWith }) => {
    const shop = await besideWith(shopUnits);
    const random = randomFrom(20_301_206);
    for (let round = 0; round < 60; round++) {
      await changeAtRandom(store, shop, random);
      if (round % 6 === 5) await expectExact(store.pets);
    }
  });

  check(
    'counts are exact after concurrent changes through two connections',
    async ({ store, besideWith }) => {
      const shops = await Promise.all([besideWith(shopUnits), besideWith(shopUnits)]);
      const added = Array.from({ length: 20 }, (_, index) =>
        newPet(`${index}`, petStatuses[index % 3], BigInt(index % 2)),
      );
      await Promise.all(shops.map(({ write }) => write('addPets', added)));
      await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const { write } = shops[index % 2] ?? shops[0];
          const id = BigInt(index + 1);
          return index % 4 === 0
            ? write('removePet', id)
            : write('changePet', { id, change: { status: 'sold' } });
        }),
      );
      expect(await store.pets.inventory()).toEqual({ ...nothing, sold: 30 });
      await expectExact(store.pets);
    },
  );

  idsConform(check);
}

function idsConform(check: StoreTest): void {
  check('the id of a removed animal is never reused', async (bench) => {
    const { besideWith, restart } = bench;
    const { write } = await besideWith(shopUnits);
    await write('addPets', [newPet('one'), newPet('two')]);
    await write('removePet', 2n);
    expect((await write('addPets', [newPet('three')])).map(({ id }) => id)).toEqual([3n]);
    const [kept] = await write('addInPlaceOf', [newPet('gone'), newPet('kept')]);
    expect(kept?.id).toBe(5n);
    for (const id of [1n, 3n, 5n]) await write('removePet', id);
    const store = await restart();
    const added = await store.write('commitImport', { now: 0, pets: [newPet('six')] });
    expect(added?.[0]?.id).toBe(6n);
  });
}
