import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { fingerprint, makeKey } from '../../src/domain/key.ts';
import { systemUser } from '../../src/system-user.ts';
import { addOperator, adminUrl, callAdmin, cookieOf, fromConsole, signIn } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { change } from '../support/backup.ts';
import { keptLog } from '../support/log.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const hours = 3_600;

const statusWith = async (cookie: string, of: TestApp = app) =>
  (await callAdmin(of, 'GET', '/session', { cookie })).status;

const secretOf = (cookie: string) => cookie.slice(cookie.indexOf('=') + 1);

describe('a session', () => {
  test('is who signed in, for twelve hours from then on, however much it is used', async () => {
    const { token, name } = await addOperator(app, 'viewer');
    const beganAt = app.clock.now();
    const cookie = await signIn(app, token);
    for (let hour = 0; hour < 24; hour++) {
      const { status, body } = await callAdmin(app, 'GET', '/session', { cookie });
      expect(status).toBe(200);
      expect(body).toEqual({
        operator: `operator:${name}`,
        role: 'viewer',
        expiresAt: new Date(beganAt + 12 * hours * 1_000).toISOString(),
      });
      app.clock.advance(hours / 2);
    }
    expect(await statusWith(cookie)).toBe(401);
  });

  test('ends after an hour without a request, and not before', async () => {
    const { token } = await addOperator(app, 'admin');
    const cookie = await signIn(app, token);
    app.clock.advance(hours - 1);
    expect(await statusWith(cookie)).toBe(200);
    app.clock.advance(hours);
    expect(await statusWith(cookie)).toBe(401);
  });

  test('is written down as used once a minute at most', async () => {
    const { token } = await addOperator(app, 'admin');
    const cookie = await signIn(app, token);
    const usedAt = async () =>
      (await app.app.admin.storage.sessions.find(fingerprint(secretOf(cookie))))?.usedAt;
    const first = await usedAt();
    app.clock.advance(59);
    expect(await statusWith(cookie)).toBe(200);
    expect(await usedAt()).toBe(first);
    app.clock.advance(1);
    expect(await statusWith(cookie)).toBe(200);
    expect(await usedAt()).toBe(app.clock.now());
  });

  test('ends when it is signed out of, and its cookie is taken away', async () => {
    const { token } = await addOperator(app, 'viewer');
    const cookie = await signIn(app, token);
    const other = await signIn(app, token);
    const { status, headers } = await callAdmin(app, 'DELETE', '/session', {
      cookie,
      headers: fromConsole(app),
    });
    expect(status).toBe(204);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^animal-store-session-\d+=; Path=\/; Max-Age=0;/),
    ]);
    expect([await statusWith(cookie), await statusWith(other)]).toEqual([401, 200]);
  });

  test('ends with its operator: revoked, or given another token', async () => {
    const { storage } = app.app.admin;
    const revoked = await addOperator(app, 'admin');
    const rotated = await addOperator(app, 'admin');
    const cookies = [await signIn(app, revoked.token), await signIn(app, rotated.token)];
    await storage.write('revokeOperator', { id: revoked.id, at: app.clock.now() });
    await storage.write('rotateOperator', { id: rotated.id, fingerprint: 'f'.repeat(64), lastFour: 'ffff' });
    for (const cookie of cookies) expect(await statusWith(cookie)).toBe(401);
    for (const { token } of [revoked, rotated]) {
      expect((await callAdmin(app, 'GET', '/session', { token })).code).toBe('sign_in_failed');
      expect((await callAdmin(app, 'POST', '/session', { body: { token } })).code).toBe('sign_in_failed');
    }
  });

  test('does not come about for a token that was replaced while it was being made', async () => {
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

  test('of an operator who was revoked is over, even if one came about meanwhile', async () => {
    await using own = await startTestApp();
    const { token, id } = await addOperator(own, 'admin');
    const cookie = await signIn(own, token);
    const path = own.config.databaseUrl.replace('sqlite:', '');
    change(path, `UPDATE operators SET revoked_at = ${own.clock.now()} WHERE id = ${id}`);
    expect(await statusWith(cookie, own)).toBe(401);
  });

  test('is new with each sign-in: a secret that somebody planted is never taken up, and the former one ends', async () => {
    const { token } = await addOperator(app, 'admin');
    const planted = `${(await signIn(app, token)).split('=')[0]}=${makeKey(randomBytes, 'session')}`;
    const first = await callAdmin(app, 'POST', '/session', { cookie: planted, body: { token } });
    const cookie = cookieOf(first.headers);
    expect(secretOf(cookie)).not.toBe(secretOf(planted));
    expect([await statusWith(planted), await statusWith(cookie)]).toEqual([401, 200]);
    const second = await callAdmin(app, 'POST', '/session', { cookie, body: { token } });
    expect([await statusWith(cookie), await statusWith(cookieOf(second.headers))]).toEqual([401, 200]);
  });

  test('is stored as its SHA-256 only', async () => {
    const { token } = await addOperator(app, 'admin');
    const cookie = await signIn(app, token);
    expect(secretOf(cookie)).toMatch(/^ass_\w{38}$/);
    const stored = await app.app.admin.storage.sessions.find(fingerprint(secretOf(cookie)));
    expect(stored).toBeDefined();
    expect(JSON.stringify(stored)).not.toContain(secretOf(cookie));
  });

  test('survives a restart', async () => {
    await using own = await startTestApp();
    const { token } = await addOperator(own, 'viewer');
    const secret = secretOf(await signIn(own, token));
    await own.restart();
    // The name of the cookie has the port, which is another one now.
    const cookie = `animal-store-session-${new URL(adminUrl(own)).port}=${secret}`;
    expect(await statusWith(cookie, own)).toBe(200);
  });
});

describe('the cookie', () => {
  test('is out of reach of scripts and other sites; without TLS its name has the port', async () => {
    const { token } = await addOperator(app, 'viewer');
    const { headers } = await callAdmin(app, 'POST', '/session', { body: { token } });
    const { port } = new URL(adminUrl(app));
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^animal-store-session-${port}=ass_\\w{38}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`,
        ),
      ),
    ]);
  });

  test('is Secure, and of this host alone, behind a proxy with TLS', async () => {
    const origin = 'https://admin.example.com';
    await using behind = await startTestApp({ ADMIN_ORIGIN: origin });
    const { token } = await addOperator(behind, 'admin');
    const url = `http://127.0.0.1:${listeningPort(behind)}/admin/v1/session`;
    const ways = [{ Host: 'admin.example.com' }, { Origin: origin }];
    for (const way of ways) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...way, 'Content-Type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      expect(response.status).toBe(201);
      const [set = ''] = response.headers.getSetCookie();
      expect(set).toMatch(
        /^__Host-animal-store-session=ass_\w{38}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
      );
      const Cookie = set.split(';')[0] ?? '';
      const out = await fetch(url, { method: 'DELETE', headers: { ...way, Origin: origin, Cookie } });
      expect(out.status).toBe(204);
    }
  });
});

/** Where the listener of a service is that operators reach by another address. */
function listeningPort(of: TestApp): number {
  return of.app.console?.port ?? 0;
}

describe('the code of a console link', () => {
  const redeem = (code: string) => callAdmin(app, 'POST', '/session', { body: { code } });
  const make = () => app.app.console?.makeCode() ?? '';

  test('is worth one session, of an admin in the name of who started the service', async () => {
    const code = make();
    expect(code).toMatch(/^[\w-]{32}$/);
    const { status, body, headers } = await redeem(code);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ operator: `console:${systemUser()}`, role: 'admin' }),
    ]);
    expect(await statusWith(cookieOf(headers))).toBe(200);
    expect((await redeem(code)).code).toBe('sign_in_failed');
  });

  test('is worth one session also when two come with it at once', async () => {
    const code = make();
    const answers = await Promise.all([redeem(code), redeem(code), redeem(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
  });

  test('is good for ten minutes', async () => {
    const first = make();
    app.clock.advance(599);
    expect((await redeem(first)).status).toBe(201);
    const second = make();
    app.clock.advance(600);
    expect((await redeem(second)).code).toBe('sign_in_failed');
  });

  test('is good no more when another one was made', async () => {
    const former = make();
    const code = make();
    expect((await redeem(former)).code).toBe('sign_in_failed');
    expect((await redeem(code)).status).toBe(201);
  });

  test('is not known before one is made, nor guessed from a part of it', async () => {
    await using own = await startTestApp();
    const wrong = async (code: string) => (await callAdmin(own, 'POST', '/session', { body: { code } })).code;
    expect(await wrong('')).toBe('sign_in_failed');
    const code = own.app.console?.makeCode() ?? '';
    expect(await wrong(code.slice(0, -1))).toBe('sign_in_failed');
    expect(await wrong(`${code}A`)).toBe('sign_in_failed');
    expect(await wrong(code.toLowerCase() === code ? code.toUpperCase() : code.toLowerCase())).toBe(
      'sign_in_failed',
    );
  });
});

test('a sign-in has either a token or a code', async () => {
  for (const body of [{}, { token: 'a', code: 'b' }, { token: 7 }, { token: 'a', name: 'b' }]) {
    const { status, code } = await callAdmin(app, 'POST', '/session', { body });
    expect([status, code]).toEqual([400, 'invalid_body']);
  }
});

test('another page cannot sign a browser in', async () => {
  const { token } = await addOperator(app, 'viewer');
  for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
    const { code } = await callAdmin(app, 'POST', '/session', { body: { token }, headers });
    expect(code).toBe('cross_site_request');
  }
});

test('a token of an operator names who makes the request, and has no end', async () => {
  const { token, name } = await addOperator(app, 'viewer');
  const { body } = await callAdmin(app, 'GET', '/session', { token });
  expect(body).toEqual({ operator: `operator:${name}`, role: 'viewer', expiresAt: null });
});

test('what somebody does by a console link is recorded in the name of who started the service', async () => {
  const { log, lines } = keptLog();
  await using own = await startTestApp({}, log);
  const code = own.app.console?.makeCode() ?? '';
  const { headers } = await callAdmin(own, 'POST', '/session', { body: { code } });
  const cookie = cookieOf(headers);
  const body = { name: 'Ozzy', categoryId: 1 };
  await callAdmin(own, 'POST', '/pets', { cookie, headers: fromConsole(own), body });
  const [entry] = await own.app.admin.storage.audit.list(undefined, 1, {});
  expect(entry).toMatchObject({ actor: `console:${systemUser()}`, operation: 'createPet' });
  expect(JSON.stringify(lines)).not.toContain(code);
});
