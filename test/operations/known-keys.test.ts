import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { defaultBanRules } from '../../src/limits/limit.ts';
import { KnownKeys } from '../../src/operations/admission/known-keys.ts';
import { enterprise, newKey } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';

async function open() {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const path = join(folder.path, 'store.db');
  const rules = { ban: defaultBanRules, failuresPerMinute: 600 };
  const clock = new FakeClock();
  const store = opened.use(await openStore({ url: `sqlite:${path}`, clock, rules, isServing: true }));
  const { id } = await enterprise(store, { perMinute: 1, perDay: 1 });
  // Fingerprints are hexadecimal. Their digits determine their position in the set.
  const print = (index: number) => new Bun.CryptoHasher('sha256').update(`key ${index}`).digest('hex');
  const make = async (index: number) => store.write('createKey', newKey(id, print(index)));
  const kept = opened.move();
  return { path, store, print, make, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('all pages of known keys are read, and new keys are known after the next read', async () => {
  await using bench = await open();
  await Promise.all(Array.from({ length: 1_001 }, (_, index) => bench.make(index)));
  const known = new KnownKeys(bench.store.keys);
  expect(known.version).toBeUndefined();
  await known.read(7);
  expect(known.version).toBe(7);
  expect(Array.from({ length: 1_001 }, (_, index) => known.mayHave(bench.print(index)))).not.toContain(false);
  expect(known.mayHave(bench.print(1_001))).toBe(false);
  await bench.make(1_001);
  await known.read(8);
  expect([known.version, known.mayHave(bench.print(1_001))]).toEqual([8, true]);
});

test('the known keys are read again after the store is restored to an earlier state and reuses ids', async () => {
  await using bench = await open();
  for (let index = 0; index < 3; index++) await bench.make(index);
  const known = new KnownKeys(bench.store.keys);
  await known.read(1);
  {
    using database = new Database(bench.path);
    database.run('DELETE FROM keys WHERE id > 1');
    database.run("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'keys'");
  }
  for (let index = 10; index < 14; index++) await bench.make(index);
  await known.read(2);
  expect([0, 10, 11, 12, 13].map((index) => known.mayHave(bench.print(index)))).not.toContain(false);
  expect(known.mayHave(bench.print(1))).toBe(false);
});
