/** An upgrade of the data file of version 1.0.0. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import type { Store } from '../../src/operations/units.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { writeOldStore } from './old-store.ts';
import { strictRules } from './place.ts';
import { many, newPet } from './samples.ts';
import { rowsOf } from './sqlite-files.ts';

const lowest = -(2n ** 63n);

/** Replaces the animals by 4,999 others in 1,000 categories, and adds accounts and a key. */
async function writeFormer(path: string, limitsPath: string): Promise<void> {
  await writeOldStore(path, limitsPath);
  using database = new Database(path, { safeIntegers: true });
  database.run(`
    DELETE FROM pets;
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 5000)
    INSERT INTO pets (id, name, category_id, status)
      SELECT number, 'animal ' || number, number % 1000 + (${lowest}),
             CASE number % 7 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END
      FROM numbers;
    DELETE FROM pets WHERE id = 5000;
    INSERT INTO keys (account_id, name, fingerprint, last_four, created_at) VALUES (2, 'till', 'print', 'wxyz', 1)`);
  const add = database.query("INSERT INTO accounts (name, plan, created_at) VALUES (?, 'free', 1)");
  for (const name of ['Ähren', 'ÄPFEL', 'äpfel & co', 'Ka\u0308se', 'Kasten']) add.run(name);
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

test('an upgrade counts the animals, keeps the scopes of keys, does not reuse ids, and case-folds the names of accounts', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'store.db');
  await writeFormer(path, join(folder.path, 'store.limits.db'));
  await using store = await open(path);
  const { accounts, keys, operators, pets } = store;
  expect(wrongCounts(path)).toEqual([]);
  const { available, pending, sold } = await pets.inventory();
  expect(available + pending + sold).toBe(4_999);
  expect(await pets.inventory(lowest + 1n)).toEqual({ available: 3, pending: 1, sold: 1 });
  expect((await pets.list(0n, 2, { categoryId: lowest + 7n })).map(({ id }) => id)).toEqual([7n, 1_007n]);
  expect((await store.write('createPet', { now: 0, body: newPet('next') })).id).toBe(5_001n);

  expect((await keys.list(0, many, { accountId: 2 })).map(({ name }) => name)).toEqual(['banned', 'till']);
  expect(await keys.findCaller('print')).toMatchObject({ accountId: 2, scopes: new Set(defaultScopes) });
  const found = async (name: string, isClosed?: boolean) =>
    (await accounts.search(undefined, many, { name, isClosed })).map((account) => account.name);
  expect(await found('äp')).toEqual(['ÄPFEL', 'äpfel & co']);
  expect(await found('KÄ', false)).toEqual(['Ka\u0308se']);
  expect(await found('', true)).toEqual([]);
  expect(await operators.list()).toEqual([]);
});
