/** Operator operations on accounts, keys and bans, and their errors. */
import { afterAll, expect, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';
import { rejectionOf } from '../support/rejection.ts';
import { until } from '../support/wait.ts';

const folder = await temporaryFolder();
await makeStore(folder.path);
const { accounts, keys, ...admin } = await operatorOf(folder.path);
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test('an expired or revoked key cannot be rotated, and its expiry time does not change', async () => {
  const { id: accountId } = await accounts.create('shop', 'pro');
  const make = async (lifetimeMs?: number) => (await keys.create(accountId, 'till', lifetimeMs)).id;
  const [revoked, expired, rotated] = [await make(), await make(1), await make()];
  await keys.revoke(revoked);
  await keys.rotate(rotated, 3_600_000);
  await until(async () => Number((await keys.find(expired)).expiresAt) < Date.now());
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
