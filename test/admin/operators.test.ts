import { afterAll, expect, test } from 'bun:test';
import { isWellFormedKey } from '../../src/domain/key.ts';
import { callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';

const desk = await openDesk();
const { app, ask, done } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

interface Issued {
  readonly id: number;
  readonly token: string;
}

const create = (name: string, role = 'viewer') => done<Issued>('POST', '/operators', { name, role });
const statusOf = async (token: string) => (await callAdmin(app, 'GET', '/accounts', { token })).status;
const now = () => new Date(app.clock.now()).toISOString();

test('a new token is valid, and appears only in the response that creates it', async () => {
  const { token, ...made } = await create('anna', 'admin');
  expect(isWellFormedKey(token, 'token')).toBe(true);
  const { id } = made;
  const lastFour = token.slice(-4);
  const shown: object = { id, name: 'anna', role: 'admin', lastFour, createdAt: now(), revokedAt: null };
  expect<object>(made).toEqual(shown);
  expect(await statusOf(token)).toBe(200);
  expect(await done<object[]>('GET', '/operators')).toContainEqual(shown);
  for (const target of ['/operators', '/audit?limit=100', '/audit/export']) {
    expect((await ask('GET', target)).text).not.toContain(token);
  }
});

test('names of active operators are unique, and the name of a revoked operator can be reused', async () => {
  const { id } = await create('ben');
  const again = await ask('POST', '/operators', { name: 'ben', role: 'admin' });
  expect([again.status, again.code]).toEqual([409, 'name_taken']);
  await done('POST', `/operators/${id}/revoke`);
  expect((await create('ben')).id).not.toBe(id);
});

test('replacing a token or revoking its operator invalidates the token immediately and permanently', async () => {
  const first = await create('carl');
  const second = await done<Issued>('POST', `/operators/${first.id}/rotate`);
  expect([await statusOf(first.token), await statusOf(second.token)]).toEqual([401, 200]);
  const revoked = await done<object>('POST', `/operators/${first.id}/revoke`);
  expect(revoked).toMatchObject({ revokedAt: now() });
  expect(await statusOf(second.token)).toBe(401);
  const third = await ask('POST', `/operators/${first.id}/rotate`);
  expect([third.status, third.code]).toEqual([409, 'operator_revoked']);
});

test.each(['rotate', 'revoke'])('returns 404 for an unknown operator: %s', async (step) => {
  const { status, code } = await ask('POST', `/operators/9999/${step}`);
  expect([status, code]).toEqual([404, 'operator_not_found']);
});
