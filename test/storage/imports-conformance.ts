import { expect } from 'bun:test';
import { type NewPet, totalAnimals } from '../../src/contract/pets.ts';
import type { UnitWriter } from '../../src/operations/units.ts';
import type { ImportRun } from '../../src/tables/imports.ts';
import type { StoreTest } from './place.ts';
import { newPet } from './samples.ts';

const begun: ImportRun = { source: 'f'.repeat(64), lastLine: 3, added: 2, rejected: 1, finished: false };

function commit(by: UnitWriter, pets: readonly NewPet[], run?: ImportRun, fromLine?: number) {
  return by.write('commitImport', {
    now: 0,
    pets,
    ...(run && { run }),
    ...(fromLine !== undefined && { fromLine }),
  });
}

export function importsConform(check: StoreTest): void {
  check('animals and progress are stored atomically', async ({ store, beside }) => {
    const { imports, pets } = store;
    const other = await beside();
    expect(await imports.find(begun.source)).toBeUndefined();
    await commit(store, [newPet('one'), newPet('two', 'sold')], begun);
    expect(await imports.find(begun.source)).toEqual(begun);
    expect(await other.imports.find(begun.source)).toEqual(begun);
    expect((await pets.list(0n, 10)).map(({ name, status }) => `${name} ${status}`)).toEqual([
      'one available',
      'two sold',
    ]);
  });

  check('progress is updated separately for each source', async ({ store }) => {
    const { imports, pets } = store;
    await commit(store, [newPet('one'), newPet('two')], begun);
    const finished = { ...begun, lastLine: 9, added: 3, rejected: 6, finished: true };
    await commit(store, [newPet('three')], finished);
    await commit(store, [], { ...begun, source: 'other', added: 0 });
    expect(await imports.find(begun.source)).toEqual(finished);
    expect((await imports.find('other'))?.added).toBe(0);
    expect(totalAnimals(await pets.inventory())).toBe(3);
  });
  check(
    'an import changes nothing if another import of the same input is ahead of it',
    async ({ store, beside }) => {
      const other = await beside();
      await commit(store, [newPet('one')], begun, 0);
      await commit(store, [newPet('two')], { ...begun, lastLine: 6 }, 3);
      for (const line of [0, 3]) {
        expect(await commit(other, [newPet('one')], begun, line)).toBeUndefined();
      }
      expect(totalAnimals(await store.pets.inventory())).toBe(2);
      expect((await store.imports.find(begun.source))?.lastLine).toBe(6);
    },
  );

  check('findParts returns only the parts of the given input', async ({ store }) => {
    const { imports } = store;
    for (const source of [begun.source, `${begun.source}:9`, `${begun.source}:12`, `${'e'.repeat(64)}:9`]) {
      await commit(store, [], { ...begun, source });
    }
    const parts = await imports.findParts(begun.source);
    expect(parts.map(({ source }) => source).sort()).toEqual([`${begun.source}:12`, `${begun.source}:9`]);
    expect(parts[0]).toMatchObject({ lastLine: begun.lastLine, finished: false });
  });
}
