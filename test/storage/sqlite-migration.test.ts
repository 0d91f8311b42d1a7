/** Upgrades of the data file from the formats without counts and without operators. */
import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import type { Store } from '../../src/operations/units.ts';
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { dataMigrations } from '../../src/storage/sqlite/migrations.ts';
import { createFileIfMissing } from '../../src/store-files/files.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { strictRules } from './place.ts';
import { many, newPet } from './samples.ts';
import { rowsOf } from './sqlite-files.ts';

/** The last format without counts. */
const former = 3;
/** The last format without operators, in which accounts have only an id. */
const beforeOperators = 4;
const lowest = -(2n ** 63n);

/** Creates a store in an earlier format. */
function makeFormer(path: string, version: number): Database {
  createFileIfMissing(path);
  const lock = () => ({ [Symbol.dispose]: () => {} });
  const migrations = dataMigrations.slice(0, version);
  return openDatabase({ path, migrations, create: true, migrates: true, busyTimeoutMs: 0, lock });
}

/** Creates a store in an earlier format, with this number of animals, categories 1 to 1,000 and a key. */
function writeFormer(path: string, animals: number): void {
  using database = makeFormer(path, former);
  database.run(`
    INSERT INTO accounts (name, plan, created_at) VALUES ('default', 'free', 1);
    INSERT INTO keys (account_id, name, fingerprint, last_four, created_at) VALUES (1, 'first', 'print', 'wxyz', 1);
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${animals})
    INSERT INTO pets (name, category_id, status)
      SELECT 'animal ' || number, number % 1000 + (${lowest}),
             CASE number % 7 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END
      FROM numbers;
    DELETE FROM pets WHERE id = ${animals};
  `);
}

const open = (path: string): Promise<Store> =>
  openStore({ url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, isServing: true });

const kept = `
  SELECT category_id, available, pending, sold FROM inventory_by_category
  UNION ALL SELECT 'all', available, pending, sold FROM inventory`;
const sums = "sum(status = 'available'), sum(status = 'pending'), sum(status = 'sold')";
const counted = `
  SELECT category_id, ${sums} FROM pets GROUP BY category_id
  UNION ALL SELECT 'all', ${sums} FROM pets`;

/** Differences between the stored and the actual counts of animals: rows that only one of the two contains. */
function wrongCounts(path: string): unknown[] {
  const only = (one: string, other: string) =>
    rowsOf(path, `SELECT * FROM (${one}) EXCEPT SELECT * FROM (${other})`);
  return [...only(kept, counted), ...only(counted, kept)];
}

test('an upgrade counts the animals, keeps the scopes of keys and does not reuse ids', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'store.db');
  writeFormer(path, 5_000);
  await using store = await open(path);
  expect(wrongCounts(path)).toEqual([]);
  const { available, pending, sold } = await store.pets.inventory();
  expect(available + pending + sold).toBe(4_999);
  expect(await store.pets.inventory(lowest + 1n)).toEqual({ available: 3, pending: 1, sold: 1 });
  expect((await store.keys.list(0, many)).map(({ scopes }) => scopes)).toEqual([defaultScopes]);
  expect((await store.keys.findCaller('print'))?.scopes).toEqual(new Set(defaultScopes));
  expect((await store.write('createPet', { now: 0, body: newPet('next') })).id).toBe(5_001n);
  expect((await store.pets.list(0n, 2, { categoryId: lowest + 7n })).map(({ id }) => id)).toEqual([
    7n,
    1_007n,
  ]);
});

test('after an upgrade, accounts are open and can be found by name, ignoring case', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'store.db');
  {
    using database = makeFormer(path, beforeOperators);
    const add = database.query("INSERT INTO accounts (name, plan, created_at) VALUES (?, 'free', 1)");
    for (const name of ['Ähren', 'ÄPFEL', 'äpfel & co', 'Ka\u0308se', 'Kasten']) add.run(name);
    database.run(`
      INSERT INTO keys (account_id, name, fingerprint, last_four, created_at) VALUES (2, 'till', 'print', 'wxyz', 1)`);
  }
  await using store = await open(path);
  const { accounts, keys } = store;
  const found = async (name: string, isClosed?: boolean) =>
    (await accounts.search(undefined, many, { name, isClosed })).map((account) => account.name);
  expect(await found('äp')).toEqual(['ÄPFEL', 'äpfel & co']);
  expect(await found('KÄ', false)).toEqual(['Ka\u0308se']);
  expect(await found('', true)).toEqual([]);
  expect((await keys.list(0, many, { accountId: 2 })).map(({ name }) => name)).toEqual(['till']);
  expect((await keys.findCaller('print'))?.accountId).toBe(2);
  expect(await store.operators.list()).toEqual([]);
});
