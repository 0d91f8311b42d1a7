/** Concurrent changes to an object by two operators. */
import { describe, expect, test } from 'bun:test';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';

const app = await startAppForFile();
const { token } = await addOperator(app, 'admin');
const { account, key, keyId } = await app.tenant('pro');

const read = async (target: string) => {
  const { headers } = await callAdmin(app, 'GET', target, { token });
  return headers.get('etag') ?? '';
};
const change = (target: string, body: unknown, ifMatch?: string) =>
  callAdmin(app, 'PATCH', target, { token, body, headers: ifMatch ? { 'If-Match': ifMatch } : {} });

describe.each([
  ['an account', `/accounts/${account.id}`, { name: 'First' }, { name: 'Second' }],
  ['a key', `/keys/${keyId}`, { scopes: ['pets:read'] }, { scopes: ['orders:read'] }],
])('a change to %s', (_what, target, first, second) => {
  test('is rejected if another operator has changed the object since it was read', async () => {
    await change(target, second);
    const tag = await read(target);
    const changed = await change(target, first, tag);
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, await read(target)]);
    const refused = await change(target, second, tag);
    expect([refused.status, refused.code]).toEqual([412, 'precondition_failed']);
    expect((await callAdmin(app, 'GET', target, { token })).body).toMatchObject(first);
    expect((await change(target, second, await read(target))).status).toBe(200);
  });
});

test("using a key does not change the key's entity tag", async () => {
  const tag = await read(`/keys/${keyId}`);
  await callAdmin(app, 'PATCH', `/keys/${keyId}`, { token, body: { scopes: ['pets:read'] } });
  const before = await read(`/keys/${keyId}`);
  expect((await app.call('GET', '/pets', { key })).status).toBe(200);
  await app.app.watch.recordUsage();
  const { body } = await callAdmin(app, 'GET', `/keys/${keyId}`, { token });
  expect(body).toMatchObject({ requestsToday: 1 });
  expect([await read(`/keys/${keyId}`), tag === '']).toEqual([before, false]);
});
