/** `animal-store copy` copies a complete store to another engine and back. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openCopyStores } from '../../src/app/app.ts';
import { openStore } from '../../src/app/store.ts';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import { type Checksum, CopyError } from '../../src/operations/copies.ts';
import type { Store } from '../../src/operations/units.ts';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { copiedTables } from '../../src/tables/tables.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { patient } from './cluster-place.ts';
import { strictRules } from './place.ts';
import { callsOf, type Readers } from './reads.ts';
import { sampleCalls } from './sample-calls.ts';
import { enterprise, many, newKey, newPet } from './samples.ts';

const servers = await testServers();
const folder = await temporaryFolder();
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

let stores = 0;
const sqliteUrl = async () => `sqlite:${join(folder.path, `${stores++}.db`)}`;

/** For each engine, creates an empty store and returns its URL. */
const targets: Record<string, () => Promise<string>> = { SQLite: sqliteUrl };
if (servers !== undefined) targets.PostgreSQL = async () => (await servers.makeSchema()).url;

function open(url: string, isServing = false): Promise<Store> {
  const cluster = { ...patient, redisUrl: servers?.redisUrl ?? '', redisPrefix: servers?.makePrefix() ?? '' };
  return openStore({ url, clock: new FakeClock(), rules: strictRules, isServing, create: true, cluster });
}

/** More animals than fit into one batch. */
const animals = 2_500;
const order = { params: {}, preconditions: {}, now: 1_790_000_000_000 };

/** A store with rows in every copied table, and with values that an engine might change. */
async function filled(): Promise<string> {
  const url = await sqliteUrl();
  await using store = await open(url);
  for (const [name, input] of sampleCalls) await store.write(name, input as never);
  const names = [' "quoted", \\ and \t', '👩‍👩‍👧‍👦', 'NULL', '\u2028'];
  const group = Array.from({ length: animals }, (_, index) => newPet(`${names[index % 4]} ${index}`));
  const extremes = [newPet('min', 'sold', int64Min), newPet('max', 'pending', int64Max)];
  await store.write('commitImport', { now: 0, pets: [...group, ...extremes] });
  for (const categoryId of [int64Min, int64Max]) {
    await store.write('putCategory', { ...order, params: { categoryId }, body: { name: `${categoryId}` } });
  }
  return url;
}

const from = await filled();
const range = { since: 0, until: Number.MAX_SAFE_INTEGER };

/** Every read of a store, except for sessions and instances, which are not copied. */
const answers = callsOf<Omit<Readers, 'sessions' | 'instances'>>({
  pets: {
    list: [
      [0n, 3_000],
      [0n, 3_000, { status: 'sold' }],
    ],
    inventory: [[], [int64Min], [1n], [77n]],
  },
  categories: { list: [[undefined, many]] },
  orders: { list: [[0n, many]] },
  accounts: {
    list: [
      [undefined, many],
      [undefined, many, { name: 'äp', isClosed: true }],
    ],
  },
  keys: { list: [[0, many]], findCaller: [['a'.repeat(64)], ['d'.repeat(64)]] },
  imports: { find: [['f'.repeat(64)]] },
  operators: { list: [[]], findByToken: [['next']] },
  audit: { list: [[undefined, many, {}]] },
  usage: {
    minutes: [[range]],
    periods: [
      [{ accountId: 1 }, 'hour', range],
      [{ keyId: 2 }, 'day', range],
    ],
    topKeys: [['deprecated', range, 9]],
  },
});

const contents = (store: Store) =>
  Promise.all(answers.map(async ({ name, call }) => [name, await call(store)]));

/** Copies a store and verifies the copy. Stops without verification after more than `stopAfter` rows. */
async function copy(
  from: string,
  to: string,
  stopAfter = Number.POSITIVE_INFINITY,
): Promise<Record<string, Checksum>> {
  await using copying = await openCopyStores(from, to);
  for await (const done of copying.copy()) if (done > stopAfter) return {};
  const verifying = copying.verify();
  for (;;) {
    const { done, value } = await verifying.next();
    if (done === true) return value;
  }
}

describe.each(Object.entries(targets))('a copy to %s', (_name, makeTarget) => {
  test('and back contains every row and does not reuse deleted ids', async () => {
    const [target, back] = [await makeTarget(), await sqliteUrl()];
    const first = await copy(from, target);
    expect(copiedTables.filter(({ name }) => (first[name]?.count ?? 0) === 0)).toEqual([]);
    expect(await copy(target, back)).toEqual(first);
    await using original = await open(from);
    const expected = await contents(original);
    for (const url of [target, back]) {
      await using store = await open(url);
      expect(await contents(store)).toEqual(expected);
      expect(await store.sessions.find('u')).toBeUndefined();
      expect(await store.instances.list()).toEqual([]);
      const [pet] = (await store.write('commitImport', { now: 0, pets: [newPet('next')] })) ?? [];
      expect(pet?.id).toBe(BigInt(9 + animals + 2 + 1));
      expect((await store.write('placeOrder', { ...order, body: { petId: 4n } })).id).toBe(4n);
      expect((await enterprise(store, { perMinute: 1, perDay: 1 })).id).toBe(3);
      expect((await store.write('createKey', newKey(1, 'next'))).id).toBe(5);
    }
  });

  test('resumes after an interruption and copies each animal exactly once', async () => {
    const target = await makeTarget();
    for (const stopAfter of [0, 1_000, 2_000]) await copy(from, target, stopAfter);
    const whole = await copy(from, target);
    expect(whole.pets?.count).toBe(animals + 9);
    // Running a finished copy again only verifies it.
    expect(await copy(from, target)).toEqual(whole);
    await using original = await open(from);
    await using store = await open(target);
    expect(await contents(store)).toEqual(await contents(original));
  });

  test('cannot be opened until it is verified', async () => {
    const to = await makeTarget();
    await copy(from, to, 1_000);
    const refusal =
      /is the target of an unfinished copy. Run the same "animal-store copy" again to finish it, or/;
    for (const isServing of [true, false]) await expect(open(to, isServing)).rejects.toThrow(refusal);
    await expect(openCopyStores(to, await sqliteUrl())).rejects.toThrow(refusal);
    await copy(from, to);
    await using _opened = await open(to);
  });

  test('fails if the target changes during the copy, and the error names the table and says what to do', async () => {
    const to = await makeTarget();
    // Opened before the copy begins, because an unfinished target cannot be opened.
    await using target = await open(to);
    await using copying = await openCopyStores(from, to);
    const copied = copying.copy();
    // The target contains rows once the copy has reported a count above 0.
    while (((await copied.next()).value ?? 1) === 0);
    // The new id is above all copied ids, so it causes no conflict.
    await target.write('createPet', { now: 0, body: newPet('somebody else') });
    for await (const _ of copied);
    const verified = Array.fromAsync(copying.verify());
    await expect(verified).rejects.toThrow(CopyError);
    await expect(verified).rejects.toThrow(
      /"counters".*The target changed during the copy. Stop the service that uses it/,
    );
  });

  test('fails without changing a target that contains other data', async () => {
    const to = await makeTarget();
    const contentsOf = async (change = async (_: Store) => {}) => {
      await using target = await open(to);
      await change(target);
      return await contents(target);
    };
    const before = await contentsOf(async (target) => {
      await target.write('createPet', { now: 0, body: newPet('somebody else') });
    });
    const copied = copy(from, to);
    await expect(copied).rejects.toThrow(CopyError);
    await expect(copied).rejects.toThrow(/its table "\w+" does not match the source/);
    expect(await contentsOf()).toEqual(before);
  });
});

test('copying a served or missing store is rejected', async () => {
  await using _served = await open(from, true);
  await expect(copy(from, await sqliteUrl())).rejects.toThrow(StoreUnusableError);
  await expect(copy(`${from}.missing`, await sqliteUrl())).rejects.toThrow(StoreUnusableError);
});
