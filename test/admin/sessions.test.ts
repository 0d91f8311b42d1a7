import { beforeEach, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { systemUserName } from '../../src/app/services.ts';
import { generateKey } from '../../src/domain/key.ts';
import { sessionFingerprint } from '../../src/operations/sign-in/sessions.ts';
import {
  addOperator,
  adminUrl,
  callAdmin,
  fromConsole,
  sessionOf,
  signIn,
  type TestSession,
} from '../support/admin.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { change } from '../support/backup.ts';
import { keptLog } from '../support/log.ts';

const app = await startAppForFile();
// Failed sign-ins are limited per minute.
beforeEach(() => app.clock.advance(60));

const hours = 3_600;

const statusWith = async (session: TestSession, of: TestApp = app) =>
  (await callAdmin(of, 'GET', '/session', { session })).status;

const storedAs = ({ cookie, secret }: TestSession) =>
  sessionFingerprint({ inCookie: cookie.slice(cookie.indexOf('=') + 1), inPage: secret });

describe('a session', () => {
  test('identifies its operator and lasts twelve hours, no matter how often it is used', async () => {
    const { token, name } = await addOperator(app, 'viewer');
    const beganAt = app.clock.now();
    const session = await signIn(app, token);
    for (let hour = 0; hour < 24; hour++) {
      const { status, body } = await callAdmin(app, 'GET', '/session', { session });
      expect(status).toBe(200);
      expect(body).toEqual({
        operator: `operator:${name}`,
        role: 'viewer',
        expiresAt: new Date(beganAt + 12 * hours * 1_000).toISOString(),
      });
      app.clock.advance(hours / 2);
    }
    expect(await statusWith(session)).toBe(401);
  });

  test.each([-25, 25])('is not affected by a clock step of %d hours', async (step) => {
    const { token } = await addOperator(app, 'viewer');
    const session = await signIn(app, token);
    const endsAt = app.clock.now() + 12 * hours * 1_000;
    app.clock.step(step * hours);
    const { body } = await callAdmin(app, 'GET', '/session', { session });
    expect(body).toMatchObject({ expiresAt: new Date(endsAt + step * hours * 1_000).toISOString() });
    app.clock.advance(hours - 1);
    expect(await statusWith(session)).toBe(200);
    app.clock.advance(hours);
    expect(await statusWith(session)).toBe(401);
    app.clock.step(-step * hours);
    expect(await statusWith(session)).toBe(401);
  });

  test('ends after exactly one hour without a request', async () => {
    const { token } = await addOperator(app, 'admin');
    const session = await signIn(app, token);
    app.clock.advance(hours - 1);
    expect(await statusWith(session)).toBe(200);
    app.clock.advance(hours);
    expect(await statusWith(session)).toBe(401);
  });

  test('records when it was last used, at most once a minute', async () => {
    const { token } = await addOperator(app, 'admin');
    const session = await signIn(app, token);
    const usedAt = async () => (await app.app.admin.storage.sessions.find(storedAs(session)))?.usedAt;
    const first = await usedAt();
    app.clock.advance(59);
    expect(await statusWith(session)).toBe(200);
    expect(await usedAt()).toBe(first);
    app.clock.advance(1);
    expect(await statusWith(session)).toBe(200);
    expect(await usedAt()).toBe(app.clock.now());
  });

  test('ends when the operator signs out, which deletes the cookie', async () => {
    const { token } = await addOperator(app, 'viewer');
    const session = await signIn(app, token);
    const other = await signIn(app, token);
    const { status, headers } = await callAdmin(app, 'DELETE', '/session', {
      session,
      headers: fromConsole(app),
    });
    expect(status).toBe(204);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^animal-store-session-\d+=; Path=\/; Max-Age=0;/),
    ]);
    expect([await statusWith(session), await statusWith(other)]).toEqual([401, 200]);
  });

  test('ends when its operator is revoked or receives a new token', async () => {
    const { storage } = app.app.admin;
    const revoked = await addOperator(app, 'admin');
    const rotated = await addOperator(app, 'admin');
    const sessions = [await signIn(app, revoked.token), await signIn(app, rotated.token)];
    await storage.write('revokeOperator', { id: revoked.id, at: app.clock.now() });
    await storage.write('rotateOperator', { id: rotated.id, fingerprint: 'f'.repeat(64), lastFour: 'ffff' });
    for (const session of sessions) expect(await statusWith(session)).toBe(401);
    for (const { token } of [revoked, rotated]) {
      expect((await callAdmin(app, 'GET', '/session', { token })).code).toBe('sign_in_failed');
      expect((await callAdmin(app, 'POST', '/session', { body: { token } })).code).toBe('sign_in_failed');
    }
  });

  test('is not created if its token is replaced during the sign-in', async () => {
    const { storage } = app.app.admin;
    const { id, name } = await addOperator(app, 'admin');
    const at = app.clock.now();
    const session = {
      fingerprint: 'e'.repeat(64),
      operatorId: id,
      actor: `operator:${name}`,
      role: 'admin' as const,
      usedAt: at,
      expiresAt: at + 1,
    };
    const added = storage.write('addSession', { session, idleMs: 1_000, lastFour: 'gone' });
    expect(await added.catch((error: unknown) => error)).toMatchObject({ code: 'sign_in_failed' });
    expect(await storage.sessions.find(session.fingerprint)).toBeUndefined();
  });

  test('ends when its operator is revoked, even if it was created during the revocation', async () => {
    await using own = await startTestApp();
    const { token, id } = await addOperator(own, 'admin');
    const session = await signIn(own, token);
    const path = own.config.databaseUrl.replace('sqlite:', '');
    change(path, `UPDATE operators SET revoked_at = ${own.clock.now()} WHERE id = ${id}`);
    expect(await statusWith(session, own)).toBe(401);
  });

  test('is created for each sign-in; existing secrets are ignored, and the previous session ends', async () => {
    const { token } = await addOperator(app, 'admin');
    const planted = {
      cookie: `${(await signIn(app, token)).cookie.split('=')[0]}=${generateKey(randomBytes, 'session')}`,
      secret: generateKey(randomBytes, 'page'),
    };
    const again = async (session: TestSession) =>
      sessionOf(await callAdmin(app, 'POST', '/session', { session, body: { token } }));
    const first = await again(planted);
    expect([first.cookie === planted.cookie, first.secret === planted.secret]).toEqual([false, false]);
    expect([await statusWith(planted), await statusWith(first)]).toEqual([401, 200]);
    const second = await again(first);
    expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200]);
  });

  test('is stored only as a SHA-256 hash', async () => {
    const { token } = await addOperator(app, 'admin');
    const session = await signIn(app, token);
    expect(session.cookie).toMatch(/=ass_\w{38}$/);
    expect(session.secret).toMatch(/^asp_\w{38}$/);
    const stored = await app.app.admin.storage.sessions.find(storedAs(session));
    expect(stored).toBeDefined();
    expect(JSON.stringify(stored)).not.toMatch(/as[sp]_/);
  });

  test('survives a restart', async () => {
    await using own = await startTestApp();
    const { token } = await addOperator(own, 'viewer');
    const session = await signIn(own, token);
    await own.restart();
    // The name of the cookie contains the port, which has changed.
    const name = `animal-store-session-${new URL(adminUrl(own)).port}`;
    const cookie = session.cookie.replace(/^[^=]+/, name);
    expect(await statusWith({ ...session, cookie }, own)).toBe(200);
  });
});

describe('the code in a console link', () => {
  const redeem = (code: string) => callAdmin(app, 'POST', '/session', { body: { code } });
  const make = () => app.app.console?.createCode() ?? '';

  test('creates a single session, with the admin role and the name of the user who started the service', async () => {
    const code = make();
    expect(code).toMatch(/^[\w-]{32}$/);
    const answer = await redeem(code);
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({ operator: `console:${systemUserName()}`, role: 'admin' }),
    ]);
    expect(await statusWith(sessionOf(answer))).toBe(200);
    expect((await redeem(code)).code).toBe('sign_in_failed');
  });

  test('creates only one session for two concurrent sign-ins', async () => {
    const code = make();
    const answers = await Promise.all([redeem(code), redeem(code), redeem(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
  });

  test('is valid for ten minutes', async () => {
    const first = make();
    app.clock.advance(599);
    expect((await redeem(first)).status).toBe(201);
    const second = make();
    app.clock.advance(600);
    expect((await redeem(second)).code).toBe('sign_in_failed');
  });

  test('becomes invalid when a newer code is issued', async () => {
    const former = make();
    const code = make();
    expect((await redeem(former)).code).toBe('sign_in_failed');
    expect((await redeem(code)).status).toBe(201);
  });

  test('is rejected if no code has been issued, or if it differs from the issued code', async () => {
    await using own = await startTestApp();
    const wrong = async (code: string) => (await callAdmin(own, 'POST', '/session', { body: { code } })).code;
    expect(await wrong('')).toBe('sign_in_failed');
    const code = own.app.console?.createCode() ?? '';
    expect(await wrong(code.slice(0, -1))).toBe('sign_in_failed');
    expect(await wrong(`${code}A`)).toBe('sign_in_failed');
    expect(await wrong(code.toLowerCase() === code ? code.toUpperCase() : code.toLowerCase())).toBe(
      'sign_in_failed',
    );
  });
});

test('a sign-in requires either a token or a code', async () => {
  for (const body of [{}, { token: 'a', code: 'b' }, { token: 7 }, { token: 'a', name: 'b' }]) {
    const { status, code } = await callAdmin(app, 'POST', '/session', { body });
    expect([status, code]).toEqual([400, 'invalid_body']);
  }
});

test('a page from another origin cannot create a session in the browser', async () => {
  const { token } = await addOperator(app, 'viewer');
  for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
    const { code } = await callAdmin(app, 'POST', '/session', { body: { token }, headers });
    expect(code).toBe('cross_site_request');
  }
});

test("an operator's token identifies the caller and does not expire", async () => {
  const { token, name } = await addOperator(app, 'viewer');
  const { body } = await callAdmin(app, 'GET', '/session', { token });
  expect(body).toEqual({ operator: `operator:${name}`, role: 'viewer', expiresAt: null });
});

test('changes made after a sign-in by link are recorded under the user who started the service', async () => {
  const { log, lines } = keptLog();
  await using own = await startTestApp({}, log);
  const code = own.app.console?.createCode() ?? '';
  const session = sessionOf(await callAdmin(own, 'POST', '/session', { body: { code } }));
  const body = { name: 'Ozzy', categoryId: 1 };
  await callAdmin(own, 'POST', '/pets', { session, headers: fromConsole(own), body });
  const [entry] = await own.app.admin.storage.audit.list(undefined, 1, {});
  expect(entry).toMatchObject({ actor: `console:${systemUserName()}`, operation: 'createPet' });
  expect(JSON.stringify(lines)).not.toContain(code);
});
