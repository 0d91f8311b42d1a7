/** Accounts, keys and bans as operators use them, and the refusals. */
import { afterAll, expect, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';
import { rejectionOf } from '../support/rejection.ts';

const folder = await temporaryFolder();
await makeStore(folder.path);
const { accounts, keys, bans, ...admin } = await operatorOf(folder.path);
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test('accounts and keys are listed in the order they were made in', async () => {
  const first = await accounts.create('first', 'free');
  const second = await accounts.create('second', 'enterprise', { perMinute: 5, perDay: 50 });
  expect((await admin.storage.accounts.list(0, 100)).slice(-2)).toEqual([first, second]);
  const [one, other] = [await keys.create(second.id, 'one'), await keys.create(first.id, 'other', 1_000)];
  const listed = (await admin.storage.keys.list(0, 100)).slice(-2);
  expect(listed.map(({ id, accountId, name }) => [id, accountId, name])).toEqual([
    [one.id, second.id, 'one'],
    [other.id, first.id, 'other'],
  ]);
  expect(JSON.stringify(listed)).not.toContain(one.key);
});

test('an unknown account, key or ban is refused by name', async () => {
  const refused: [code: string, noun: string, asked: () => Promise<unknown>][] = [
    ['account_not_found', 'account', () => accounts.update(999, { plan: 'pro' })],
    ['account_not_found', 'account', () => accounts.update(999, { name: 'new' })],
    ['account_not_found', 'account', () => accounts.close(999)],
    ['account_not_found', 'account', () => accounts.reopen(999)],
    ['account_not_found', 'account', () => accounts.limits(999)],
    ['account_not_found', 'account', () => keys.create(999, 'till')],
    ['key_not_found', 'key', () => keys.rotate(999, 0)],
    ['key_not_found', 'key', () => keys.revoke(999)],
    ['key_not_found', 'key', () => keys.setScopes(999, ['pets:read'])],
    ['ban_not_found', 'ban on key', () => bans.lift(999)],
  ];
  for (const [code, noun, asked] of refused) {
    expect(await rejectionOf(asked())).toMatchObject({ code, message: `There is no ${noun} 999.` });
  }
});

test('an ended key cannot be rotated, and its end is unchanged', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const make = async (lifetimeMs?: number) => (await keys.create(accountId, 'till', lifetimeMs)).id;
  const [revoked, expired, rotated] = [await make(), await make(-1), await make()];
  await keys.revoke(revoked);
  await keys.rotate(rotated, 3_600_000);
  const before = await admin.storage.keys.list(0, 100);
  for (const [id, how] of [
    [revoked, 'is revoked'],
    [expired, 'has expired'],
    [rotated, 'was already rotated'],
  ] as const) {
    expect(await rejectionOf(keys.rotate(id, 3_600_000))).toMatchObject({
      code: 'key_ended',
      message: `Key ${id} cannot be rotated: it ${how}. Create a new key for its account, ${accountId}.`,
    });
  }
  expect(await admin.storage.keys.list(0, 100)).toEqual(before);
});

test('one of many concurrent rotations of a key succeeds', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const { id } = await keys.create(accountId, 'till');
  const rotations = await Promise.allSettled([1, 2, 3].map(() => keys.rotate(id, 0)));
  expect(rotations.filter(({ status }) => status === 'fulfilled').length).toBe(1);
});

test('a successor has the lifetime of the old key by default', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const lifetimeOf = async (issued: { id: number }) => {
    const { createdAt = 0, expiresAt } =
      (await admin.storage.keys.list(0, 100)).find(({ id }) => id === issued.id) ?? {};
    return expiresAt === null ? 'unlimited' : (expiresAt ?? 0) - createdAt;
  };
  const hour = 3_600_000;
  const first = await keys.create(accountId, 'till', hour);
  const second = await keys.rotate(first.id, 0);
  expect(await lifetimeOf(second)).toBe(hour);
  const third = await keys.rotate(second.id, 0, 2 * hour);
  expect(await lifetimeOf(third)).toBe(2 * hour);
  const fourth = await keys.rotate(third.id, 0, null);
  expect(await lifetimeOf(fourth)).toBe('unlimited');
  expect(fourth.expiresAt).toBeNull();
  expect(await lifetimeOf(await keys.rotate(fourth.id, 0))).toBe('unlimited');
});
