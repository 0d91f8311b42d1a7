import { expect } from 'bun:test';
import { totalAnimals } from '../../src/contract/pets.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

/** Names that an engine might change. */
const names = [
  ' \t leading and trailing \u3000',
  "Robert'); DROP TABLE pets;--",
  '\\ \\\\ \\0 \\x00 %s %_ ? :name $1 @p {}',
  '"quoted" `ticked` [bracketed]',
  'caf\u00e9',
  'cafe\u0301',
  '\ufeffmarked',
  'line\u2028separator\u2029and\u0085next',
  'Катя 猫 ねこ قطة חתול',
  '\u202eturned round\u202c',
  '\ufffe\uffff\ufffd',
  '👩‍👩‍👧‍👦'.repeat(20),
  '\u{10ffff}'.repeat(255),
  'NULL',
  '9223372036854775808',
  '1e400',
  '\u007e\u0080\u009f',
];

export function petsConform(check: StoreTest): void {
  check('every concurrently added animal gets a unique id and a separate row', async ({ store }) => {
    const { pets } = store;
    const added = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        store.write('createPet', { now: 0, body: newPet(`${index}`) }),
      ),
    );
    expect(new Set(added.map(({ id }) => id)).size).toBe(200);
    for (const pet of added) expect(await pets.find(pet.id)).toEqual(pet);
    expect(totalAnimals(await pets.inventory())).toBe(200);
  });

  check(
    'a new animal is visible to other connections as soon as the write is acknowledged',
    async ({ store, beside }) => {
      const other = await beside();
      const seen = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const { id } = await store.write('createPet', { now: 0, body: newPet(`${index}`) });
          return (await other.pets.find(id))?.name;
        }),
      );
      expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => `${index}`));
    },
  );

  check('names are returned byte for byte', async ({ store }) => {
    const { pets } = store;
    for (const name of names) {
      const { id } = await store.write('createPet', { now: 0, body: newPet(name) });
      expect((await pets.find(id))?.name).toBe(name);
    }
    expect((await pets.list(0n, 100)).map(({ name }) => name)).toEqual(names);
  });
}
