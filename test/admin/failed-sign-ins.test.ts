import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { generateKey } from '../../src/domain/key.ts';
import { addOperator, callAdmin, sessionOf } from '../support/admin.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';

const from = (address: string) => ({ 'X-Forwarded-For': address });
const behindProxy = { TRUSTED_PROXIES: '127.0.0.1' };

const wrongToken = () => generateKey(randomBytes, 'token');

/** Functions that send a wrong credential, one for each kind of credential. */
const guesses: Record<string, (app: TestApp, address: string) => ReturnType<typeof callAdmin>> = {
  'the token of a sign-in': (app, address) =>
    callAdmin(app, 'POST', '/session', { headers: from(address), body: { token: wrongToken() } }),
  'the code of a sign-in': (app, address) =>
    callAdmin(app, 'POST', '/session', { headers: from(address), body: { code: 'guess' } }),
  'the token of a request': (app, address) =>
    callAdmin(app, 'GET', '/session', { headers: from(address), token: wrongToken() }),
  'the token of a request for metrics': (app, address) =>
    callAdmin(app, 'GET', 'root:/metrics', { headers: from(address), token: wrongToken() }),
};

const app = await startAppForFile(behindProxy);

describe.each(Object.keys(guesses))('a client that guesses %s', (kind) => {
  const guess = guesses[kind] ?? expect.unreachable();

  test('may make ten attempts per minute, and then gets 429 with Retry-After', async () => {
    app.clock.advance(60);
    for (let count = 0; count < 10; count++) {
      expect((await guess(app, '192.0.2.1')).code).toBe('sign_in_failed');
      app.clock.advance(1);
    }
    const { status, code, headers } = await guess(app, '192.0.2.1');
    expect([status, code, headers.get('retry-after')]).toEqual([429, 'too_many_sign_ins', '50']);
    app.clock.advance(49);
    expect((await guess(app, '192.0.2.1')).code).toBe('too_many_sign_ins');
    app.clock.advance(1);
    expect((await guess(app, '192.0.2.1')).code).toBe('sign_in_failed');
  });
});

describe('a sign-in body', () => {
  test.each([
    ['that is not JSON', '{"a":', 'invalid_json'],
    ['with invalid members', '{"a":1}', 'invalid_body'],
    ['of more than 1,024 bytes', JSON.stringify({ code: 'x'.repeat(1_024) }), 'body_too_large'],
    ['with 16 KB of invalid members', `{${'"a":1,'.repeat(2_500)}"b":1}`, 'body_too_large'],
  ])('%s counts as a failed sign-in', async (_what, body, expected) => {
    app.clock.advance(60);
    const headers = { ...from('192.0.2.1'), 'Content-Type': 'application/json' };
    const send = (sent: string | ReadableStream<Uint8Array>) =>
      callAdmin(app, 'POST', '/session', { headers, body: sent });
    const codes: unknown[] = [];
    for (let count = 0; count < 9; count++) codes.push((await send(body)).code);
    codes.push((await send(new Blob([body]).stream())).code);
    expect(codes).toEqual(codes.map(() => expected));
    expect((await send(body)).code).toBe('too_many_sign_ins');
  });

  test('may have up to 1,024 bytes', async () => {
    const { token } = await addOperator(app, 'viewer');
    const body = JSON.stringify({ token }).padEnd(1_024);
    const headers = { 'Content-Type': 'application/json' };
    expect((await callAdmin(app, 'POST', '/session', { headers, body })).status).toBe(201);
  });
});

/** Uses up the failed sign-ins allowed for an address. */
async function exhaust(app: TestApp, address: string): Promise<void> {
  for (let count = 0; count < 10; count++)
    await callAdmin(app, 'GET', '/session', { headers: from(address), token: wrongToken() });
}

test('failed sign-ins count against all addresses in the same IPv6 network, but not against other networks', async () => {
  await exhaust(app, '2001:db8::1');
  const codeFrom = async (address: string) =>
    (await callAdmin(app, 'GET', '/session', { headers: from(address), token: wrongToken() })).code;
  expect(await codeFrom('2001:db8::ffff:1')).toBe('too_many_sign_ins');
  expect(await codeFrom('2001:db8:0:1::1')).toBe('sign_in_failed');
  expect(await codeFrom('192.0.2.201')).toBe('sign_in_failed');
});

test('valid tokens, codes and sessions from a rate-limited network are accepted', async () => {
  app.clock.advance(60);
  const { token } = await addOperator(app, 'viewer');
  const headers = from('192.0.2.1');
  const session = sessionOf(await callAdmin(app, 'POST', '/session', { headers, body: { token } }));
  await exhaust(app, '192.0.2.1');
  for (const body of [{ token }, { code: app.app.console?.createCode() }])
    expect((await callAdmin(app, 'POST', '/session', { headers, body })).status).toBe(201);
  expect((await callAdmin(app, 'GET', '/session', { headers, token })).status).toBe(200);
  expect((await callAdmin(app, 'GET', '/session', { headers, session })).status).toBe(200);
});

test('X-Forwarded-For grants no additional attempts without a trusted proxy', async () => {
  await using app = await startTestApp();
  for (let count = 0; count < 10; count++)
    await callAdmin(app, 'GET', '/session', { headers: from(`192.0.2.${count}`), token: wrongToken() });
  const { code } = await callAdmin(app, 'GET', '/session', {
    headers: from('192.0.2.99'),
    token: wrongToken(),
  });
  expect(code).toBe('too_many_sign_ins');
});

test("failed sign-ins are logged with the client's address, at most ten per minute, and without credentials", async () => {
  const { log, lines } = keptLog();
  await using app = await startTestApp(behindProxy, log);
  const sent = Array.from({ length: 12 }, wrongToken);
  for (const token of sent) {
    await callAdmin(app, 'POST', '/session', { headers: from('192.0.2.1'), body: { token } });
  }
  const failures = lines.filter(({ msg }) => String(msg).startsWith('failed sign-in'));
  expect(failures).toHaveLength(10);
  for (const line of failures) expect(line).toMatchObject({ address: '192.0.2.1', by: 'token' });
  expect(failures.at(-1)?.msg).toBe('failed sign-in; additional attempts from this network must wait');
  const text = JSON.stringify(lines);
  for (const token of sent) {
    expect(text).not.toContain(token);
    expect(text).not.toContain(token.slice(4, 20));
  }
});
