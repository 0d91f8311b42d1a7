import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { type NewPet, totalAnimals } from '../../src/contract/pets.ts';
import { DataDamagedError, StorageUnavailable } from '../../src/outages/errors.ts';
import { dataMigrations } from '../../src/storage/sqlite/migrations.ts';
import { SqliteWriter } from '../../src/storage/sqlite/writer.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { readStoreIdentity } from '../../src/store-files/file-identity.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { FakeClock } from '../support/clock.ts';
import { damage } from '../support/damage.ts';
import { temporaryFolder } from '../support/folder.ts';
import { strictRules } from './place.ts';
import { newPet } from './samples.ts';

const units = {
  declared: { writes: ['pets'], run: ({ pets }: Transaction, pet: NewPet) => pets.add([pet]) },
  undeclared: { writes: ['orders'], run: ({ pets }: Transaction, pet: NewPet) => pets.add([pet]) },
} as const satisfies Units;

/** Opens a store in the folder, and a writer with these units. `prepare` receives the path of the store before that. */
async function openWriter<Its extends Units>(folder: string, own: Its, prepare?: (path: string) => void) {
  const path = join(folder, 'store.db');
  const options = { url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, isServing: true };
  if (prepare !== undefined) {
    await (await openStore(options))[Symbol.asyncDispose]();
    prepare(path);
  }
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openStore(options));
  const identity = readStoreIdentity(path, resolveStoreFiles(path), true);
  const settings = { path, identity, migrations: dataMigrations, units: own, timeoutMs: 5_000 };
  const writer = opened.use(new SqliteWriter(settings));
  const kept = opened.move();
  return { store, writer, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('a unit of work that writes to an undeclared table is rolled back without affecting other units', async () => {
  await using folder = await temporaryFolder();
  await using opened = await openWriter(folder.path, units);
  const { store, writer } = opened;
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

/** The error of a statement on a full disk. */
const fullDisk = Object.assign(new Error('disk is full'), { name: 'SQLiteError', code: 'SQLITE_FULL' });

const unitsOnDamage = {
  add: { writes: ['pets'], run: ({ pets }: Transaction, pet: NewPet) => pets.add([pet]) },
  order: { writes: ['orders'], run: ({ orders }: Transaction, id: bigint) => orders.find(id) },
  fail: { writes: ['pets'], run: () => Promise.reject(fullDisk) },
} as const satisfies Units;

test('if units of a group find damage, the other units are committed', async () => {
  await using folder = await temporaryFolder();
  await using opened = await openWriter(folder.path, unitsOnDamage, (path) => damage(path, 'orders'));
  const { store, writer } = opened;
  const [first, one, other, second, third] = await Promise.allSettled([
    writer.write('add', newPet('first')),
    writer.write('order', 1n),
    writer.write('order', 2n),
    writer.write('add', newPet('second')),
    writer.write('add', newPet('third')),
  ]);
  expect(writer.facts.groups).toBe(1);
  for (const { reason } of [one, other] as PromiseRejectedResult[])
    expect(reason).toBeInstanceOf(DataDamagedError);
  const status = 'fulfilled';
  expect([first, second, third]).toMatchObject([{ status }, { status }, { status }]);
  expect((await store.pets.list(0n, 10)).map(({ name }) => name)).toEqual(['first', 'second', 'third']);
  expect(totalAnimals(await store.pets.inventory())).toBe(3);
});

test('if the disk fails after a part of a group with damage was committed, the committed units succeed', async () => {
  await using folder = await temporaryFolder();
  await using opened = await openWriter(folder.path, unitsOnDamage, (path) => damage(path, 'orders'));
  const { store, writer } = opened;
  const [committed, order, failing, uncommitted] = await Promise.allSettled([
    writer.write('add', newPet('committed')),
    writer.write('order', 1n),
    writer.write('fail', null),
    writer.write('add', newPet('uncommitted')),
  ]);
  expect(committed).toMatchObject({ status: 'fulfilled' });
  for (const { reason } of [order, failing, uncommitted] as PromiseRejectedResult[])
    expect(reason).toBeInstanceOf(StorageUnavailable);
  expect((await store.pets.list(0n, 10)).map(({ name }) => name)).toEqual(['committed']);
});
