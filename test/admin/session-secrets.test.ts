/** The two secrets of a session: the cookie, and the secret that the page stores. */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { generateKey } from '../../src/domain/key.ts';
import { addOperator, adminUrl, callAdmin, fromConsole, headersOf, signIn } from '../support/admin.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';

const app = await startAppForFile();

const statusWith = async (session: Awaited<ReturnType<typeof signIn>>) =>
  (await callAdmin(app, 'GET', '/session', { session })).status;

describe('session authentication', () => {
  test("rejects the cookie without the page's secret, because browsers send cookies to every port of the host", async () => {
    const { token } = await addOperator(app, 'admin');
    const session = await signIn(app, token);
    const other = await signIn(app, token);
    const stolen = { Cookie: session.cookie, ...fromConsole(app) };
    const guesses = ['', generateKey(randomBytes, 'page'), other.secret, session.cookie.split('=')[1] ?? ''];
    const attempts = [stolen, ...guesses.map((secret) => ({ ...stolen, 'X-Session-Secret': secret }))];
    for (const headers of attempts) {
      const body = { name: 'mallory', role: 'admin' };
      const { status, code } = await callAdmin(app, 'POST', '/operators', { headers, body });
      expect([status, code]).toEqual([401, 'sign_in_required']);
      expect((await callAdmin(app, 'GET', '/accounts', { headers })).status).toBe(401);
    }
    expect(await statusWith(session)).toBe(200);
  });

  test("rejects the page's secret without the cookie", async () => {
    const { secret } = await signIn(app, (await addOperator(app, 'admin')).token);
    const { code } = await callAdmin(app, 'GET', '/session', { headers: { 'X-Session-Secret': secret } });
    expect(code).toBe('sign_in_required');
  });

  test('uses a page secret that is returned only in the sign-in response', async () => {
    const session = await signIn(app, (await addOperator(app, 'admin')).token);
    const { text } = await callAdmin(app, 'GET', '/session', { session });
    expect(text).not.toContain('asp_');
  });

  test('accepts only the __Host- cookie if ADMIN_ORIGIN is set', async () => {
    await using behind = await startTestApp({ ADMIN_ORIGIN: 'https://admin.example.com' });
    const { token } = await addOperator(behind, 'admin');
    const url = `http://127.0.0.1:${listeningPort(behind)}/admin/v1/session`;
    const json = { 'Content-Type': 'application/json' };
    const signedIn = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify({ token }) });
    const [, inCookie = ''] = /=(ass_\w+)/.exec(signedIn.headers.getSetCookie()[0] ?? '') ?? [];
    const { secret } = (await signedIn.json()) as { secret: string };
    const statusAs = async (name: string) =>
      (await fetch(url, { headers: headersOf({ cookie: `${name}=${inCookie}`, secret }) })).status;
    expect(await statusAs('__Host-animal-store-session')).toBe(200);
    expect(await statusAs(`animal-store-session-${listeningPort(behind)}`)).toBe(401);
  });
});

describe('a session cookie', () => {
  test('is inaccessible to scripts and other sites, and its name contains the port if there is no TLS', async () => {
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

  test('is Secure and bound to the host if the service is behind a TLS proxy', async () => {
    const origin = 'https://admin.example.com';
    await using behind = await startTestApp({ ADMIN_ORIGIN: origin });
    const { token } = await addOperator(behind, 'admin');
    const url = `http://127.0.0.1:${listeningPort(behind)}/admin/v1/session`;
    const ways = [{ Host: 'admin.example.com' }, { Origin: origin }, { Host: 'localhost:8080' }];
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
      const { secret } = (await response.json()) as { secret: string };
      const session = headersOf({ cookie: set.split(';')[0] ?? '', secret });
      expect((await fetch(url, { headers: { ...way, ...session } })).status).toBe(200);
      const out = await fetch(url, { method: 'DELETE', headers: { ...way, Origin: origin, ...session } });
      expect(out.status).toBe(204);
    }
  });
});

/** Listening port of the admin API. Operators use another address. */
function listeningPort(of: TestApp): number {
  return of.app.console?.port ?? 0;
}
