/** An operator's change and its entry in the audit log are written in one transaction. */

import { afterAll, expect, test } from 'bun:test';
import { errorMessage } from '../../src/cli/terminal.ts';
import { AccountOperations } from '../../src/operations/admin/accounts.ts';
import { listEntries, readAllEntries } from '../../src/operations/admin/audit.ts';
import { liftBan } from '../../src/operations/admin/bans.ts';
import { createOperator } from '../../src/operations/admin/operators.ts';
import { writeAs } from '../../src/operations/changes/by-operator.ts';
import { clientUnits } from '../../src/operations/resources/clients.ts';
import { sharedUnits } from '../../src/operations/resources/shared.ts';
import { units } from '../../src/operations/units.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import type { NewAuditEntry } from '../../src/tables/operators.ts';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';
import { rejectionOf } from '../support/rejection.ts';
import { until } from '../support/wait.ts';

const folder = await temporaryFolder();
await makeStore(folder.path);
const admin = await operatorOf(folder.path);
const { accounts, keys, storage } = admin;
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const entries = (object?: string) => listEntries(storage, undefined, 100_000, { object });

test('every operator unit of work declares which object it changes', () => {
  const onlyForClients = Object.keys(clientUnits).filter((name) => !(name in sharedUnits));
  const ofTheServiceItself = [
    ...['createFirstKey', 'createPetOnce', 'once', 'audited'],
    ...['addSession', 'useSession', 'removeSession'],
    ...['recordUsage', 'pruneUsage', 'pruneResponses', 'recordAudit', 'commitImport'],
    ...[
      'pruneEvents',
      'skipEvents',
      'dispatchDeliveries',
      'disableWebhook',
      'releaseDeliveries',
      'rescheduleDeliveries',
      'sweepWebhooks',
      'addPaces',
      'pruneDeliveries',
      'trimDeliveries',
      'resealWebhooks',
    ],
  ];
  const withSubject = Object.entries(units).flatMap(([name, unit]) => ('subject' in unit ? [name] : []));
  expect([...withSubject, ...onlyForClients, ...ofTheServiceItself].sort()).toEqual(
    Object.keys(units).sort(),
  );
});

test("an entry contains the actor, the time, the operation, the object, and the object's state before and after", async () => {
  const { id } = await accounts.create('Shop', 'pro');
  const from = admin.clock.now();
  await accounts.update(id, { name: 'Corner shop', plan: 'business' });
  const [changed, made] = await entries(`account:${id}`);
  expect(made).toMatchObject({ operation: 'createAccount', before: null, after: changed?.before });
  expect(changed).toMatchObject({ operation: 'updateAccount', actor: `cli:${admin.actor.name}` });
  expect(changed?.at).toBeGreaterThanOrEqual(from);
  const [before, after] = [changed?.before, changed?.after].map((text) => JSON.parse(text ?? ''));
  expect(before).toMatchObject({ name: 'Shop', plan: 'pro', perDay: 10_000 });
  expect(after).toEqual({
    ...before,
    name: 'Corner shop',
    plan: 'business',
    perMinute: 1_000,
    perDay: 100_000,
  });
});

test('a rejected change creates no entry', async () => {
  const before = await entries();
  await createOperator(admin, 'anna', 'viewer');
  expect(await rejectionOf(createOperator(admin, 'anna', 'admin'))).toMatchObject({ code: 'name_taken' });
  const refused = { params: { petId: 99n }, preconditions: {}, now: 0 };
  expect(await rejectionOf(writeAs(admin, 'deletePet', refused))).toMatchObject({ code: 'pet_not_found' });
  expect((await entries()).length).toBe(before.length + 1);
});

test('a change that has no effect is not recorded', async () => {
  const { id } = await accounts.create('Closed', 'free');
  await accounts.close(id);
  const before = await entries();
  await accounts.close(id);
  await accounts.update(id, { name: 'Closed' });
  await accounts.update(id, { plan: 'free' });
  expect(await entries()).toEqual(before);
});

test('a new token is recorded, even if its last four characters are the same', async () => {
  const { operator } = await createOperator(admin, 'ben', 'viewer');
  const replaced = { id: operator.id, fingerprint: 'f'.repeat(64), lastFour: operator.lastFour };
  await writeAs(admin, 'rotateOperator', replaced);
  const [latest] = await entries(`operator:${operator.id}`);
  expect(latest).toMatchObject({ operation: 'rotateOperator', before: latest?.after });
});

test('an export contains the matching entries of all pages, oldest first', async () => {
  const at = 1_700_000_000_000;
  const entry = { actor: 'operator:long', operation: 'updateAccount', before: null, after: null };
  const write = (index: number) =>
    storage.write('recordAudit', { ...entry, at: at + index, object: `account:${index % 2}` });
  await Promise.all(Array.from({ length: 1_234 }, (_, index) => write(index)));
  for (const [filter, expected] of [
    [{ actor: 'operator:long' }, 1_234],
    [{ actor: 'operator:long', object: 'account:1' }, 617],
    [{ actor: 'operator:long', since: at + 34 }, 1_200],
    [{ actor: 'operator:long', since: at + 34, until: at + 1_034 }, 1_000],
    [{ actor: 'operator:nobody' }, 0],
  ] as const) {
    const times = (await Array.fromAsync(readAllEntries(storage, filter))).map((one) => one.at);
    expect(times.length).toBe(expected);
    expect(times).toEqual([...new Set(times)].sort((one, other) => one - other));
  }
});

test('a process killed while lifting a ban leaves a log entry for the attempt', async () => {
  const { id: accountId } = await accounts.create('crowd', 'enterprise', { perMinute: 1, perDay: 1 });
  const { id } = await keys.create(accountId, 'till');
  const ban = { keyId: id, bannedUntil: Math.ceil(Date.now() / 1_000) + 60, level: 1 };
  const ends = new Promise<never>(() => {});
  const limits = { ...storage.limits, bans: () => [ban], lift: () => ends };
  const dying = { ...admin, store: { ...storage, limits } };
  void liftBan(dying, id);
  await until(async () => (await entries(`key:${id}`))[0]?.operation === 'beginLiftBan');
  const [entry] = await entries(`key:${id}`);
  expect(entry).toMatchObject({ actor: `cli:${admin.actor.name}`, before: entry?.after });
  expect(JSON.parse(entry?.after ?? '')).toMatchObject({ level: 1 });
});

test('lifting a ban is reported as successful even if the result cannot be recorded', async () => {
  const { id: accountId } = await accounts.create('crowd', 'enterprise', { perMinute: 1, perDay: 1 });
  const { id } = await keys.create(accountId, 'till');
  const ban = { keyId: id, bannedUntil: Math.ceil(Date.now() / 1_000) + 60, level: 1 };
  let isLifted = false;
  const lift = () => {
    isLifted = true;
    return true;
  };
  const limits = { ...storage.limits, bans: () => [ban], lift };
  const write = (async (name: 'recordAudit', entry: NewAuditEntry) => {
    if (isLifted) throw new StorageUnavailable('the disk is full');
    await storage.write(name, entry);
  }) as typeof storage.write;
  const failing = { ...admin, store: { ...storage, limits, write } };
  const refusal = await rejectionOf(liftBan(failing, id));
  const message = 'The ban was lifted, but only the attempt is recorded in the audit log.';
  expect(refusal).toMatchObject({ code: 'service_unavailable', message });
  expect(errorMessage(refusal)).toBe(
    `${message} The store is temporarily unavailable (the disk is full). Check before you try again.`,
  );
});

test("limits derived from an account's plan use the plan at the time of the write", async () => {
  const { id } = await accounts.create('moving', 'enterprise', { perMinute: 10, perDay: 100 });
  let reads = 0;
  /** Changes the limits after the first read. */
  const find: typeof storage.accounts.find = async (accountId) => {
    const read = await storage.accounts.find(accountId);
    if (reads++ === 0)
      await accounts.update(id, { plan: 'enterprise', custom: { perMinute: 20, perDay: 200 } });
    return read;
  };
  const store = new Proxy(storage, {
    get: (target, name) => (name === 'accounts' ? { find } : Reflect.get(target, name, target)),
  });
  const { clock, actor } = admin;
  const changed = await new AccountOperations({ store, clock, actor }).update(id, {
    custom: { perMinute: 15 },
  });
  expect([changed.quota, reads]).toEqual([{ perMinute: 15, perDay: 200 }, 2]);
});
