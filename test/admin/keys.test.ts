import { afterAll, expect, test } from 'bun:test';
import { isWellFormedKey } from '../../src/domain/key.ts';
import { openDesk } from '../support/admin-answers.ts';

const desk = await openDesk({ BAN_STRIKES: '1' });
const { app, ask, done } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

interface Issued {
  readonly id: number;
  readonly key: string;
}

const statusOf = async (key: string) => (await app.call('GET', '/pets', { key })).status;
const { id: accountId } = (await app.tenant('pro')).account;
const issue = (body = {}) => done<Issued>('POST', `/accounts/${accountId}/keys`, { name: 'till', ...body });
const find = (id: number) => done<object>('GET', `/keys/${id}`);
const now = () => new Date(app.clock.now()).toISOString();

test('a new key is active, and appears only in the response that creates it', async () => {
  const issued = await issue({ scopes: ['pets:read'] });
  expect(isWellFormedKey(issued.key)).toBe(true);
  const { id, key } = issued;
  expect<object>(issued).toEqual({ id, accountId, key, scopes: ['pets:read'], expiresAt: null });
  expect(await find(id)).toEqual({
    id,
    accountId,
    name: 'till',
    lastFour: key.slice(-4),
    scopes: ['pets:read'],
    state: 'live',
    createdAt: now(),
    expiresAt: null,
    revokedAt: null,
    successorId: null,
    predecessorId: null,
    lastUsedAt: null,
    requestsToday: 0,
  });
  expect(await statusOf(key)).toBe(200);
  for (const target of [`/keys/${id}`, '/keys?limit=100', '/audit?limit=100', '/audit/export']) {
    expect((await ask('GET', target)).text).not.toContain(key);
  }
});

test('a key expires before the year 10000, even after rotations or if its expiry time is in another time zone', async () => {
  const latest = '9999-12-31T23:59:59.999Z';
  let key = await issue({ expiresAt: '9999-12-31T23:59:59Z' });
  for (let rotations = 0; rotations < 2; rotations++) {
    app.clock.advance(60);
    key = await done<Issued>('POST', `/keys/${key.id}/rotate`);
    expect(key).toMatchObject({ expiresAt: latest });
  }
  expect(await issue({ expiresAt: '9999-12-31T23:59:59-12:00' })).toMatchObject({ expiresAt: latest });
});

test('a key expires at the time set by an operator, which must be in the future', async () => {
  const expiresAt = new Date(app.clock.now() + 60_000).toISOString();
  const { id, key } = await issue({ expiresAt });
  expect(await find(id)).toMatchObject({ state: 'live', expiresAt });
  app.clock.advance(60);
  expect(await find(id)).toMatchObject({ state: 'expired' });
  expect(await statusOf(key)).toBe(401);
  const late = await ask('POST', `/accounts/${accountId}/keys`, { name: 'late', expiresAt: now() });
  expect(late.code).toBe('invalid_body');
  expect(late.text).toContain('expiresAt');
});

test('scope changes, rotation and revocation take effect on the next request', async () => {
  const { id, key } = await issue();
  const changed = await done<object>('PATCH', `/keys/${id}`, { scopes: ['orders:read'] });
  expect(changed).toMatchObject({ scopes: ['orders:read'] });
  expect(await statusOf(key)).toBe(403);
  await done('PATCH', `/keys/${id}`, { scopes: ['pets:read'] });
  const successor = await done<Issued>('POST', `/keys/${id}/rotate`, { graceSeconds: 60 });
  expect(await find(id)).toMatchObject({ successorId: successor.id, predecessorId: null });
  expect(await find(successor.id)).toMatchObject({ successorId: null, predecessorId: id });
  expect([await statusOf(key), await statusOf(successor.key)]).toEqual([200, 200]);
  app.clock.advance(60);
  expect([await statusOf(key), await statusOf(successor.key)]).toEqual([401, 200]);
  const revoked = await done<object>('POST', `/keys/${successor.id}/revoke`);
  expect(revoked).toMatchObject({ state: 'revoked', revokedAt: now() });
  expect(await statusOf(successor.key)).toBe(401);
  const again = await ask('POST', `/keys/${successor.id}/rotate`);
  expect([again.status, again.code]).toEqual([409, 'key_ended']);
});

const notThere: [request: string, code: string, body: object | undefined][] = [
  ['GET /keys/9999', 'key_not_found', undefined],
  ['PATCH /keys/9999', 'key_not_found', { scopes: ['pets:read'] }],
  ['POST /keys/9999/rotate', 'key_not_found', undefined],
  ['POST /keys/9999/revoke', 'key_not_found', undefined],
  ['GET /keys/9999/usage', 'key_not_found', undefined],
  ['POST /accounts/9999/keys', 'account_not_found', { name: 'x' }],
  ['DELETE /bans/9999', 'ban_not_found', undefined],
  ['DELETE /bans/x', 'ban_not_found', undefined],
];
test('while bans cannot be read, the state of keys that may be banned is unknown', async () => {
  const { keys, store } = desk.app.operator;
  const { account } = await desk.app.tenant('free');
  const { id } = await keys.create(account.id, 'ended');
  await keys.revoke(id);
  const states = (await keys.inUse(await store.keys.list(0, 9, { accountId: account.id }), undefined)).map(
    ({ state }) => state,
  );
  expect(states).toEqual(['unknown', 'revoked']);
});

test.each(notThere)('returns 404 for an unknown account, key or ban: %s', async (request, expected, sent) => {
  const [method = '', target = ''] = request.split(' ');
  const { status, code } = await ask(method, target, sent);
  expect([status, code]).toEqual([404, expected]);
});

test('a ban is listed with its key, account and reason; lifting it is recorded and takes effect on the next request', async () => {
  const { account, key, keyId } = await app.tenant('enterprise', { perMinute: 1, perDay: 100 });
  await statusOf(key);
  await statusOf(key);
  app.clock.advance(2);
  expect((await app.call('GET', '/pets', { key })).error.code).toBe('api_key_banned');
  expect(await done<object[]>('GET', '/bans')).toEqual([
    {
      keyId,
      keyName: 'enterprise',
      keyLastFour: key.slice(-4),
      accountId: account.id,
      accountName: 'enterprise',
      bannedFrom: now(),
      bannedUntil: new Date(app.clock.now() + 120_000).toISOString(),
      level: 0,
      reason: 'Kept sending requests after 429 instead of waiting for Retry-After.',
    },
  ]);
  expect(await find(keyId)).toMatchObject({ state: 'banned' });
  expect((await ask('DELETE', `/bans/${keyId}`)).status).toBe(204);
  expect(await done<object[]>('GET', '/bans')).toEqual([]);
  app.clock.advance(60);
  expect(await statusOf(key)).toBe(200);
  const [entry] = await done<object[]>('GET', `/audit?object=key:${keyId}&limit=1`);
  const actor = `operator:${desk.operator.name}`;
  expect(entry).toMatchObject({ operation: 'liftBan', actor, before: { level: 0 }, after: null });
});
