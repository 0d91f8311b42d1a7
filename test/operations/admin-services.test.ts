/** What an operator may ask for, and how the answer sounds when there is no such thing. */
import { afterAll, expect, test } from 'bun:test';
import { KeyEnded, NotFound } from '../../src/operations/not-found.ts';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';

const folder = await temporaryFolder();
await makeStore(folder.path);
const { accounts, keys, ...admin } = await operatorOf(folder.path);
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const notThere = (noun: 'account' | 'key' | 'ban on key', command: string) =>
  new NotFound(noun, 999, command);

test('accounts and keys are listed in the order they were made in', async () => {
  const first = await accounts.create('first', 'free');
  const second = await accounts.create('second', 'enterprise', { perMinute: 5, perDay: 50 });
  expect((await accounts.list()).slice(-2)).toEqual([first, second]);
  const [one, other] = [await keys.create(second.id, 'one'), await keys.create(first.id, 'other', 1_000)];
  const listed = (await keys.list()).slice(-2);
  expect(listed.map(({ id, accountId, name }) => [id, accountId, name])).toEqual([
    [one.id, second.id, 'one'],
    [other.id, first.id, 'other'],
  ]);
  expect(JSON.stringify(listed)).not.toContain(one.key);
});

test('what is not there is named, with the command that shows what is', async () => {
  await expect(accounts.setPlan(999, 'pro')).rejects.toEqual(notThere('account', 'accounts list'));
  await expect(keys.create(999, 'till')).rejects.toEqual(notThere('account', 'accounts list'));
  await expect(keys.rotate(999, 0)).rejects.toEqual(notThere('key', 'keys list'));
  await expect(keys.revoke(999)).rejects.toEqual(notThere('key', 'keys list'));
  await expect(keys.liftBan(999)).rejects.toEqual(notThere('ban on key', 'bans list'));
});

test('a key that is not live any more has no successor, and keeps its end', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const make = async (lifetimeMs?: number) => (await keys.create(accountId, 'till', lifetimeMs)).id;
  const [revoked, expired, rotated] = [await make(), await make(-1), await make()];
  await keys.revoke(revoked);
  await keys.rotate(rotated, 3_600_000);
  const before = await keys.list();
  for (const [id, how] of [
    [revoked, 'is revoked'],
    [expired, 'has expired'],
    [rotated, 'was already rotated'],
  ] as const) {
    await expect(keys.rotate(id, 3_600_000)).rejects.toEqual(new KeyEnded(id, accountId, how));
  }
  expect(await keys.list()).toEqual(before);
});

test('of those who rotate a key at once one succeeds', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const { id } = await keys.create(accountId, 'till');
  const rotations = await Promise.allSettled([1, 2, 3].map(() => keys.rotate(id, 0)));
  expect(rotations.filter(({ status }) => status === 'fulfilled').length).toBe(1);
});

test('a successor lives as long as the old key was given, unless it is told otherwise', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const lifetimeOf = async (issued: { id: number }) => {
    const { createdAt = 0, expiresAt } = (await keys.list()).find(({ id }) => id === issued.id) ?? {};
    return expiresAt === null ? 'for ever' : (expiresAt ?? 0) - createdAt;
  };
  const hour = 3_600_000;
  const first = await keys.create(accountId, 'till', hour);
  const second = await keys.rotate(first.id, 0);
  expect(await lifetimeOf(second)).toBe(hour);
  const third = await keys.rotate(second.id, 0, 2 * hour);
  expect(await lifetimeOf(third)).toBe(2 * hour);
  const fourth = await keys.rotate(third.id, 0, null);
  expect(await lifetimeOf(fourth)).toBe('for ever');
  expect(fourth.expiresAt).toBeNull();
  expect(await lifetimeOf(await keys.rotate(fourth.id, 0))).toBe('for ever');
});
