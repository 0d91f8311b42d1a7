import { expect } from 'bun:test';
import { int64Max, int64Min, parseJson } from '../../src/contract/json.ts';
import type { NewPet } from '../../src/contract/pets.ts';
import { type Pet, petJson } from '../../src/contract/representations.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import type { PetFilter, PetStore } from '../../src/storage/storage.ts';
import { randomFrom } from '../support/random.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';
import { shopUnits, walk } from './shop-units.ts';

const categories = [int64Min, -1n, 0n, 7n, int64Max];
const count = 45;

/** Names whose JSON has escapes or unusual characters, or looks like the beginning of an animal. */
const oddNames = [
  '',
  ' "',
  '\\',
  '{"id":7,',
  '\\"id\\":',
  '/',
  '🐕‍🦺',
  'é\u0301',
  '\u2028\u2029',
  '\u0080\u00a0',
  '\ufeff\uffff',
  '</script>',
];

/** Animals of every status and category, in mixed order. */
function catalogue(): NewPet[] {
  const random = randomFrom(20_301_207);
  const among = <Value>(values: readonly Value[]) =>
    values[Math.floor(random() * values.length)] ?? (values[0] as Value);
  return Array.from({ length: count }, (_, index) =>
    newPet(`${index}${oddNames[index % oddNames.length]}`, among(petStatuses), among(categories)),
  );
}

/** Every filter, with values that match many, few or no animals. */
function filters(): PetFilter[] {
  const ids = [undefined, [7n], [44n, 3n, 30n, 3n, 999n, 12n, 21n, -1n, int64Max, 13n, 14n], [500n]];
  return [undefined, ...petStatuses].flatMap((status) =>
    [undefined, ...categories, 77n].flatMap((categoryId) =>
      ids.map((some) => ({ status, categoryId, ids: some })),
    ),
  );
}

function fits(pet: Pet, { ids, status, categoryId }: PetFilter): boolean {
  const isNamed = ids === undefined || ids.includes(pet.id);
  return (
    isNamed && (status ?? pet.status) === pet.status && (categoryId ?? pet.categoryId) === pet.categoryId
  );
}

/**
 * The animals of a page, which must be the same as JSON and, without ids, as rows. The page also reports the ids of
 * its last animal and of the next one.
 */
async function listed(
  { pets }: { readonly pets: PetStore },
  after: bigint,
  limit: number,
  { ids, ...filter }: PetFilter,
): Promise<Pet[]> {
  const { json, last, next } = await pets.listJson(after, limit, { ...filter, ids });
  const found = (parseJson(json) as Pet[]) ?? [];
  expect(last).toBe(found.at(-1)?.id);
  expect(json).toBe(`[${found.map(petJson)}]`);
  if (ids === undefined) {
    const rows = await pets.list(after, limit + 1, filter);
    expect(found).toEqual(rows.slice(0, limit));
    expect(next).toBe(rows[limit]?.id);
  }
  return found;
}

export function filtersConform(check: StoreTest): void {
  check(
    'every filter lists the matching animals by ascending id, starting after any animal',
    async (bench) => {
      const { store, besideWith } = bench;
      const { write } = await besideWith(shopUnits);
      const all = await write('addPets', catalogue());
      for (const filter of filters()) {
        const expected = all.filter((pet) => fits(pet, filter));
        const list = (after: bigint, limit: number) => listed(store, after, limit, filter);
        expect(await walk(0n, 7, list)).toEqual(expected);
        for (const after of [1n, 20n, BigInt(count) - 1n, BigInt(count), int64Max]) {
          expect(await list(after, 2)).toEqual(expected.filter(({ id }) => id > after).slice(0, 2));
        }
      }
    },
  );

  check('a hundred animals can be found by id, in pages of any length', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    const all = await write(
      'addPets',
      Array.from({ length: 120 }, (_, index) => newPet(`${index}`)),
    );
    const ids = all.slice(10, 110).map(({ id }) => id);
    const backwards = { ids: ids.toReversed() };
    expect((await listed(store, 0n, 100, backwards)).map(({ id }) => id)).toEqual(ids);
    expect((await listed(store, 20n, 5, backwards)).map(({ id }) => id)).toEqual(ids.slice(10, 15));
  });
}
