/** What an operator may ask for, and how the answer sounds when there is no such thing. */
import { afterAll, expect, test } from 'bun:test';
import { KeyRevoked, NotFound } from '../../src/operations/not-found.ts';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';

const folder = await temporaryFolder();
await makeStore(folder.path);
const { accounts, keys, ...office } = await operatorOf(folder.path);
afterAll(async () => {
  await office[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const notThere = (noun: 'account' | 'key' | 'ban on key', command: string) => new NotFound(noun, 9, command);

test('accounts and keys are listed in the order they were made in', async () => {
  const first = await accounts.create('first', 'free');
  const second = await accounts.create('second', 'enterprise', { perMinute: 5, perDay: 50 });
  expect(await accounts.list()).toEqual([first, second]);
  const [one, other] = [await keys.create(second.id, 'one'), await keys.create(first.id, 'other', 1_000)];
  const listed = await keys.list();
  expect(listed.map(({ id, accountId, name }) => [id, accountId, name])).toEqual([
    [one.id, second.id, 'one'],
    [other.id, first.id, 'other'],
  ]);
  expect(JSON.stringify(listed)).not.toContain(one.key);
});

test('what is not there is named, with the command that shows what is', async () => {
  await expect(accounts.setPlan(9, 'pro')).rejects.toEqual(notThere('account', 'accounts list'));
  await expect(keys.create(9, 'till')).rejects.toEqual(notThere('account', 'accounts list'));
  await expect(keys.rotate(9, 0)).rejects.toEqual(notThere('key', 'keys list'));
  await expect(keys.revoke(9)).rejects.toEqual(notThere('key', 'keys list'));
  await expect(keys.liftBan(9)).rejects.toEqual(notThere('ban on key', 'bans list'));
});

test('a revoked key has no successor', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const { id } = await keys.create(accountId, 'till');
  await keys.revoke(id);
  await expect(keys.rotate(id, 0)).rejects.toEqual(new KeyRevoked(id, accountId));
});
