import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { type NewPet, totalAnimals } from '../../src/contract/pets.ts';
import { dataMigrations } from '../../src/storage/sqlite/migrations.ts';
import { SqliteWriter } from '../../src/storage/sqlite/writer.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { readStoreIdentity } from '../../src/store-files/file-identity.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { strictRules } from './place.ts';
import { newPet } from './samples.ts';

const units = {
  declared: { writes: ['pets'], run: ({ pets }: Transaction, pet: NewPet) => pets.add([pet]) },
  undeclared: { writes: ['orders'], run: ({ pets }: Transaction, pet: NewPet) => pets.add([pet]) },
} as const satisfies Units;

test('a unit of work that writes to an undeclared table is rolled back without affecting other units', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'store.db');
  await using store = await openStore({
    url: `sqlite:${path}`,
    clock: new FakeClock(),
    rules: strictRules,
    isServing: true,
  });
  const identity = readStoreIdentity(path, resolveStoreFiles(path), true);
  const migrations = dataMigrations;
  await using writer = new SqliteWriter({ path, identity, migrations, units, timeoutMs: 5_000 });
  const [first, undeclared, declared] = await Promise.allSettled([
    writer.write('declared', newPet('first')),
    writer.write('undeclared', newPet('undeclared')),
    writer.write('declared', newPet('declared')),
  ]);
  expect(undeclared).toMatchObject({ status: 'rejected' });
  expect(`${(undeclared as PromiseRejectedResult).reason}`).toContain('changed "pets"');
  expect([first, declared]).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  expect(writer.facts.groups).toBe(1);
  expect((await store.pets.list(0n, 10)).map(({ name }) => name)).toEqual(['first', 'declared']);
  expect(totalAnimals(await store.pets.inventory())).toBe(2);
});
