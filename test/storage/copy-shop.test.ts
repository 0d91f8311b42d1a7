/** `animal-store copy` of a store in which animals were changed, ordered and removed. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { openCopy } from '../../src/app.ts';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import type { Checksum } from '../../src/operations/copies.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { KeptAnswer } from '../../src/storage/transaction.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { patient } from './cluster-place.ts';
import { strictRules } from './place.ts';
import { many, newPet } from './samples.ts';
import { type Shop, shopUnits } from './shop-units.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
const folder = await temporaryFolder();
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

let stores = 0;
const sqliteUrl = async () => `sqlite:${join(folder.path, `${stores++}.db`)}`;

/** Where a store can be copied to, by name. */
const targets: Record<string, () => Promise<string>> = { SQLite: sqliteUrl };
if (servers !== undefined) targets.PostgreSQL = async () => (await servers.makeSchema()).url;

const order = { status: 'placed', createdAt: 1_800_000_000_001, updatedAt: 1_800_000_000_002 } as const;
const answer: KeptAnswer = {
  accountId: 1,
  key: 'order-1042',
  request: 'a'.repeat(64),
  status: 201,
  body: '{"id":1}',
  location: '/v1/orders/1',
  keptAt: 1_800_000_000_000,
};
const other: KeptAnswer = { ...answer, key: 'Z~', status: 200, body: null, location: null };

async function open(url: string): Promise<Shop> {
  const clock = new FakeClock();
  const cluster = { ...patient, redisUrl: servers?.redisUrl ?? '', redisPrefix: servers?.makePrefix() ?? '' };
  return openStorage({
    url,
    clock,
    rules: strictRules,
    serving: false,
    create: true,
    units: shopUnits,
    cluster,
  });
}

/** Fills a store: of every table rows, and of every counter the highest id is gone. */
async function fill(shop: Shop): Promise<void> {
  const { write } = shop;
  await write('makeKey', { fingerprint: 'a'.repeat(64), scopes: ['orders:read', 'orders:write'] });
  await write('makeKey', { fingerprint: 'b'.repeat(64), scopes: [] });
  const animals = Array.from({ length: 2_500 }, (_, index) =>
    newPet(`animal ${index}`, index % 3 === 0 ? 'available' : 'sold', int64Min + BigInt(index % 5)),
  );
  await write('addPets', animals);
  for (const id of [7n, 2_499n, 2_500n]) await write('removePet', id);
  for (const id of [int64Min, -1n, int64Max]) await write('putCategory', { id, name: `category ${id}` });
  await write('addOrder', { ...order, petId: 1n, reference: 'cart "1042" \u2028' });
  const returned = await write('addOrder', { ...order, petId: 7n });
  await write('replaceOrder', { ...returned, status: 'returned' });
  for (const each of [answer, other]) await write('keepAnswer', { answer: each, since: 0 });
}

/** All that a store answers. */
async function contents({ write, pets, categories, orders, keys }: Shop): Promise<unknown[]> {
  const counts = [undefined, int64Min, int64Min + 4n, 0n].map((category) => pets.inventory(category));
  return Promise.all([
    ...counts,
    pets.list(0n, 3_000),
    pets.list(0n, 3_000, { categoryId: int64Min, status: 'sold' }),
    categories.list(undefined, 10),
    orders.list(0n, 10),
    keys.list(0, many),
    keys.findCaller('a'.repeat(64)),
    ...[answer, other].map(({ accountId, key }) => write('findAnswer', { accountId, key, since: 0 })),
  ]);
}

async function copy(from: string, to: string, stopAfter = Number.POSITIVE_INFINITY) {
  await using copying = await openCopy(from, to);
  for await (const done of copying.copy()) if (done > stopAfter) return {};
  const verifying = copying.verify();
  for (;;) {
    const { done, value } = await verifying.next();
    if (done === true) return value;
  }
}

describe.each(Object.entries(targets))('to %s', (_name, makeTarget) => {
  test('and back: all of it arrives, and ids go on above those that are gone', async () => {
    const [there, target, back] = [await sqliteUrl(), await makeTarget(), await sqliteUrl()];
    let original: unknown[];
    {
      await using shop = await open(there);
      await fill(shop);
      original = await contents(shop);
    }
    const first: Record<string, Checksum> = await copy(there, target);
    expect(first).toMatchObject({ pets: { count: 2_497 }, orders: { count: 2 }, counters: { count: 4 } });
    expect(await copy(target, back)).toEqual(first);
    for (const url of [target, back]) {
      await using shop = await open(url);
      expect(await contents(shop)).toEqual(original);
      expect((await shop.write('addPets', [newPet('next')]))[0]?.id).toBe(2_501n);
      expect((await shop.write('addOrder', { ...order, petId: 2n })).id).toBe(3n);
      expect((await shop.write('makeKey', { fingerprint: 'c', scopes: [] })).id).toBe(3);
    }
  });

  test('broken off in the midst of its animals, it goes on and counts each once', async () => {
    const [from, target] = [await sqliteUrl(), await makeTarget()];
    let original: unknown[];
    {
      await using shop = await open(from);
      await fill(shop);
      original = await contents(shop);
    }
    for (const stopAfter of [0, 1_000, 2_000]) await copy(from, target, stopAfter);
    await copy(from, target);
    await using shop = await open(target);
    expect(await contents(shop)).toEqual(original);
  });
});
