/** Catalog changes that PostgreSQL rejects. The rest of their group is stored. */
import { expect, spyOn, test } from 'bun:test';
import type { PetStatus } from '../../src/contract/pets.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { openCatalogue, pausing, rename } from '../storage/catalogue-kit.ts';
import { lockers } from '../storage/postgres-kit.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { until } from '../support/wait.ts';

/** Gives an animal a status that the table does not allow. */
const spoil = {
  writes: ['pets'],
  run: async ({ pets }: Transaction, id: bigint) => {
    const pet = await pets.find(id);
    if (pet !== undefined) await pets.replace(pet, { ...pet, status: 'lost' as PetStatus });
  },
} as const;

await describeWithServers('changes to the catalog that PostgreSQL rejects', ({ makeSchema }) => {
  const opened = <All extends Units>(registry: All, instances?: number) =>
    openCatalogue(makeSchema, registry, instances);

  test('a value that the database rejects fails only the unit of work that wrote it', async () => {
    await using store = await opened({ spoil }, 1);
    const [one = 0n, two = 0n] = await store.add('Rex', 'Max');
    const [spoilt, renamed] = await Promise.allSettled([
      store.first.write('spoil', one as never),
      store.first.write('updatePet', rename(two, 'Moritz') as never),
    ]);
    expect(spoilt).toMatchObject({ status: 'rejected', reason: { constraint: 'pets_status_check' } });
    expect(renamed.status).toBe('fulfilled');
    expect((await store.reads.pets.list()).map(({ name }) => name)).toEqual(['Rex', 'Moritz']);
  });

  test('a single rejected change among 256 is found by bisecting the group', async () => {
    await using store = await opened({ spoil }, 1);
    const [spoilt = 0n, ...others] = await store.add(
      ...Array.from({ length: 256 }, (_, index) => `${index}`),
    );
    using statements = spyOn(PostgresDatabase.prototype, 'write');
    const outcomes = await Promise.allSettled([
      ...others.map((id) => store.first.write('updatePet', rename(id, 'renamed') as never)),
      store.first.write('spoil', spoilt as never),
    ]);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    // One statement for the whole group, and two for each of the eight times that it is halved.
    expect(statements).toHaveBeenCalledTimes(1 + 2 * 8);
    const names = (await store.reads.pets.list(0n, 256)).map(({ name }) => name);
    expect(names.filter((name) => name !== 'renamed')).toEqual(['0']);
  });

  test('a unit that conflicts with a row added by another transaction does not delay the other units in its group', async () => {
    const slow = pausing(async ({ categories }, name: string, pause) => {
      const before = await categories.find(7n);
      await pause();
      if (before === undefined) await categories.put({ id: 7n, name });
    });
    await using store = await opened({ slow: slow.unit }, 1);
    const [id = 0n] = await store.add('Rex');
    const group = [
      store.first.write('slow', 'Dogs' as never),
      store.first.write('updatePet', rename(id, 'Max') as never),
    ];
    await slow.reached;
    await store.session`BEGIN`;
    await store.session`INSERT INTO categories (id, name) VALUES (7, 'Cats')`;
    slow.goOn();
    // The group's statement waits for the other transaction, and then fails with a duplicate key.
    await until(async () => (await lockers(store.session, 'waiting')).length > 0);
    await store.session`COMMIT`;
    await Promise.all(group);
    expect(await store.reads.categories.list()).toEqual([{ id: 7n, name: 'Cats' }]);
    expect(await store.reads.pets.find(id)).toMatchObject({ name: 'Max' });
  });
});
