/** `animal-store copy`: a store moves to another engine and back, and nothing is lost on the way. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { openCopy } from '../../src/app.ts';
import { total } from '../../src/contract/inventory.ts';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import { defaultBanRules } from '../../src/domain/limit.ts';
import { type Checksum, CopyError } from '../../src/operations/copies.ts';
import type { Store } from '../../src/operations/units.ts';
import { StorageUnusable } from '../../src/storage/storage.ts';
import { openStore } from '../../src/store.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { patient } from './cluster-place.ts';
import { enterprise, many, newKey, newPet } from './samples.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const rules = { ban: defaultBanRules, failuresPerMinute: 600 };
const animals = 2_500;

const operator = { name: 'Änne', role: 'viewer', fingerprint: 'f', lastFour: 'wxyz', createdAt: 1 } as const;
const entry = { at: 5, actor: 'cli:root', operation: 'closeAccount', object: 'account:1' };
const range = { since: 0, until: 10 * 86_400_000 };
const counts = { ok: 1, refused: 2, limited: 3, failed: 4, deprecated: 5 };
/** Of more than a batch of rows, some of them alike in the first column of their key. */
const usage = Array.from({ length: 1_500 }, (_, index) => ({
  ...counts,
  keyId: (index % 750) + 1,
  accountId: 1,
  hour: Math.floor(index / 750) * 3_600_000,
  lastUsedAt: index,
}));

/** What operators keep: all of it moves but sessions, and instances, which tell of themselves anew. */
async function fillForOperators({ write }: Store): Promise<void> {
  await write('closeAccount', { id: 1, closedAt: 1_785_000_000_000 });
  await write('reopenAccount', { id: 1, closedAt: null });
  await write('updateAccount', { id: 1, name: 'ÄPFEL' });
  const { id } = await write('createOperator', operator);
  const session = {
    operatorId: id,
    actor: 'operator:Änne',
    role: 'viewer',
    usedAt: 1,
    expiresAt: 9,
  } as const;
  await write('addSession', { session: { ...session, fingerprint: 's' }, idleMs: 9, lastFour: 'wxyz' });
  await write('recordAudit', { ...entry, before: null, after: '{"name":"\u2028"}' });
  const codes = ['ok', 'Z', 'a', '_'];
  await write('recordUsage', {
    minutes: codes.map((code) => ({ minute: 60_000, operation: 'listPets', code, requests: 7 })),
    keys: usage,
    instance: { name: 'one', version: '1', startedAt: 1, seenAt: 2 },
  });
}

async function expectForOperators(store: Store): Promise<void> {
  expect(await store.accounts.list(undefined, many, { name: 'äp', isClosed: false })).toMatchObject([
    { id: 1 },
  ]);
  expect(await store.operators.findByToken('f')).toMatchObject({ id: 1, name: 'Änne', revokedAt: null });
  expect(await store.sessions.find('s')).toBeUndefined();
  expect(await store.instances.list()).toEqual([]);
  expect(await store.audit.list(undefined, 9, { object: 'account:1' })).toEqual([
    { ...entry, id: 1n, before: null, after: '{"name":"\u2028"}' },
  ]);
  expect((await store.usage.minutes(range)).map(({ code }) => code)).toEqual(['Z', '_', 'a', 'ok']);
  const inHour = { ok: 750, refused: 1_500, limited: 2_250, failed: 3_000 };
  expect(await store.usage.periods({ accountId: 1 }, 'hour', range)).toEqual([
    { from: 0, ...inHour },
    { from: 3_600_000, ...inHour },
  ]);
  expect(await store.usage.topKeys('deprecated', range, 1)).toMatchObject([
    { keyId: 1, ok: 2, deprecated: 10 },
  ]);
  expect((await store.write('createOperator', { ...operator, name: 'bob', fingerprint: 'g' })).id).toBe(2);
  await store.write('recordAudit', { ...entry, at: 6, before: null, after: null });
  expect((await store.audit.list(undefined, 1, {}))[0]?.id).toBe(2n);
}

describe.skipIf(servers === undefined)('copy', () => {
  // Skipped without them.
  const { makeSchema, makePrefix, redisUrl } = servers ?? ({} as NonNullable<typeof servers>);

  function open(url: string, serving = false): Promise<Store> {
    const cluster = { ...patient, redisUrl, redisPrefix: makePrefix() };
    return openStore({ url, clock: new FakeClock(), rules, serving, create: true, cluster });
  }

  async function fill(store: Store): Promise<void> {
    const { id } = await enterprise(store, { perMinute: 7, perDay: 1_000_000_000_000 });
    const key = await store.write('createKey', newKey(id, 'a'.repeat(64), 1_800_000_000_000));
    await store.write('rotateKey', {
      oldId: key.id,
      oldEndsAt: 1_790_000_000_000,
      successor: newKey(id, 'b'.repeat(64)),
    });
    await store.write('revokeKey', { id: key.id, at: 1_780_000_000_000 });
    const names = [' "quoted", \\ and \t', '👩‍👩‍👧‍👦', 'NULL', '\u2028'];
    const group = Array.from({ length: animals - 2 }, (_, index) => newPet(`${names[index % 4]} ${index}`));
    const run = { source: 'f'.repeat(64), lastLine: 9, added: 3, rejected: 6, finished: true };
    const pets = [...group, newPet('min', 'sold', int64Min), newPet('max', 'pending', int64Max)];
    await store.write('commitImport', { pets, run });
    const input = { params: {}, preconditions: {}, now: 1_790_000_000_000 };
    for (const petId of [1n, 2n])
      await store.write('placeOrder', { ...input, body: { petId, reference: '猫' } });
    await store.write('cancelOrder', { ...input, params: { orderId: 2n } });
    const category = { ...input, params: { categoryId: int64Min }, body: { name: 'Dogs' } };
    await store.write('putCategory', category);
    // Its id was the highest, and is not given out again.
    const [gone] = (await store.write('commitImport', { pets: [newPet('gone')] })) ?? [];
    await store.write('deletePet', { ...input, params: { petId: gone?.id ?? 0n } });
    await fillForOperators(store);
  }

  async function copy(from: string, to: string): Promise<Record<string, Checksum>> {
    await using copying = await openCopy(from, to);
    for await (const _ of copying.copy());
    const verifying = copying.verify();
    for (;;) {
      const { done, value } = await verifying.next();
      if (done === true) return value;
    }
  }

  test('there and back: every row arrives, keys go on working, ids go on above', async () => {
    await using folder = await temporaryFolder();
    await using schema = await makeSchema();
    const there = `sqlite:${join(folder.path, 'there.db')}`;
    const back = `sqlite:${join(folder.path, 'back.db')}`;
    {
      await using store = await open(there);
      await fill(store);
    }
    const first = await copy(there, schema.url);
    expect(first.pets?.count).toBe(animals);
    expect(await copy(schema.url, back)).toEqual(first);
    for (const url of [schema.url, back]) {
      await using store = await open(url);
      expect((await store.keys.findCaller('b'.repeat(64)))?.quota.perDay).toBe(1_000_000_000_000);
      expect(await store.keys.findCaller('a'.repeat(64))).toBeUndefined();
      expect((await store.write('createPet', { body: newPet('next') })).id).toBe(BigInt(animals + 2));
      const placed = { petId: 1n, reference: '猫', status: 'placed' };
      expect(await store.orders.list(0n, 9)).toMatchObject([
        { id: 1n, ...placed },
        { id: 2n, status: 'cancelled' },
      ]);
      expect(await store.categories.list(undefined, 9)).toEqual([{ id: int64Min, name: 'Dogs' }]);
      expect(await store.pets.inventory()).toEqual({ available: animals - 2, pending: 2, sold: 1 });
      expect(await store.pets.inventory(int64Min)).toEqual({ available: 0, pending: 0, sold: 1 });
      expect((await enterprise(store, { perMinute: 1, perDay: 1 })).id).toBe(2);
      expect((await store.write('createKey', newKey(1, 'c'))).id).toBe(3);
      expect(await store.imports.find('f'.repeat(64))).toMatchObject({ added: 3, finished: true });
      await expectForOperators(store);
    }
  });

  test('broken off, it goes on where it stopped; done, it only compares', async () => {
    await using folder = await temporaryFolder();
    await using schema = await makeSchema();
    const from = `sqlite:${join(folder.path, 'store.db')}`;
    {
      await using store = await open(from);
      await fill(store);
    }
    {
      await using broken = await openCopy(from, schema.url);
      for await (const done of broken.copy()) if (done > 1_000) break;
    }
    const whole = await copy(from, schema.url);
    expect(whole.pets?.count).toBe(animals);
    expect(await copy(from, schema.url)).toEqual(whole);
  });

  test('a target that is written to while it is copied to is what the message names, with the remedy', async () => {
    await using folder = await temporaryFolder();
    await using schema = await makeSchema();
    const from = `sqlite:${join(folder.path, 'store.db')}`;
    {
      await using store = await open(from);
      await fill(store);
    }
    await using target = await open(schema.url);
    await using copying = await openCopy(from, schema.url);
    const begun = copying.copy();
    // The first rows are in the target when it says more than none.
    while (((await begun.next()).value ?? 1) === 0);
    await target.write('createPet', { body: newPet('somebody else') });
    // Its id is above all that are copied, and so in nobody's way.
    for await (const _ of begun);
    const verified = Array.fromAsync(copying.verify());
    await expect(verified).rejects.toThrow(CopyError);
    await expect(verified).rejects.toThrow(
      /"counters".*The target changed during the copy. Stop the service that uses it/,
    );
  });

  test('a target that holds something else is left alone, and a store that is served is not copied', async () => {
    await using folder = await temporaryFolder();
    await using schema = await makeSchema();
    const from = `sqlite:${join(folder.path, 'store.db')}`;
    await using served = await open(from, true);
    await fill(served);
    await expect(copy(from, schema.url)).rejects.toThrow(StorageUnusable);
    await served[Symbol.asyncDispose]();
    await using target = await open(schema.url);
    await target.write('createPet', { body: newPet('somebody else') });
    await expect(copy(from, schema.url)).rejects.toThrow(CopyError);
    expect(total(await target.pets.inventory())).toBe(1);
    expect(await target.accounts.list(undefined, many)).toEqual([]);
    await expect(copy(`${from}.missing`, schema.url)).rejects.toThrow(StorageUnusable);
  });
});
