/**
 * Rejections by every operation in the contract. One operation is tested with every kind of rejection, and each other
 * operation with one kind.
 */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { adminBasePath, allAdminOperations, requiredRole } from '../../src/contract/admin/operations.ts';
import { isRead, type Operation } from '../../src/contract/operation.ts';
import { allowedMethods } from '../../src/contract/operations.ts';
import { generateKey } from '../../src/domain/key.ts';
import { adminHeaders } from '../../src/http/admin/reply.ts';
import { addOperator, adminUrl, callAdmin, fromConsole, headersOf, signIn } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';

// Rejected requests come from different networks, so that no network exceeds its limit.
const app = await startAppForFile({ TRUSTED_PROXIES: '127.0.0.1' });

const admin = await addOperator(app, 'admin');
const viewer = await addOperator(app, 'viewer');
const adminSession = await signIn(app, admin.token);
const viewerSession = await signIn(app, viewer.token);

let networks = 0;
const elsewhere = () => ({ 'X-Forwarded-For': `198.51.${++networks >> 8}.${networks & 255}` });

/** The request target of an operation, with every path parameter set to 1. */
const targetOf = ({ path }: Operation) => path.replace(/\{\w+\}/g, '1');
const isForAnybody = (operation: Operation) => requiredRole(operation) === undefined;

/** Cycles through the elements, so that every kind is tested with at least one operation. */
const inTurn = <T>(kinds: readonly T[], turn: number) => kinds[turn % kinds.length] ?? expect.unreachable();

const protectedOnes = allAdminOperations.filter((operation) => !isForAnybody(operation));
const unsafeOnes = allAdminOperations.filter((operation) => !isRead(operation));
const adminsOnly = allAdminOperations.filter((operation) => requiredRole(operation) === 'admin');

test('writes require the admin role (except verifyBackup and session operations), and reads require the viewer role (except downloadBackup)', () => {
  const viewers = unsafeOnes.filter((operation) => requiredRole(operation) !== 'admin');
  expect(viewers.map(({ operationId }) => operationId).sort()).toEqual([
    'createSession',
    'deleteSession',
    'endSession',
    'verifyBackup',
  ]);
  const reads = allAdminOperations.filter(isRead);
  const adminsReads = reads.filter((operation) => requiredRole(operation) !== 'viewer');
  // Only admins may download a backup, because it contains the whole store.
  expect(adminsReads.map(({ operationId }) => operationId)).toEqual(['downloadBackup']);
});

const withCookie = (change: (cookie: string) => string) =>
  headersOf({ ...adminSession, cookie: change(adminSession.cookie) });

/** One invalid credential of each kind. */
const invalid: Record<string, Record<string, string>> = {
  'an unknown token': { Authorization: `Bearer ${generateKey(randomBytes, 'token')}` },
  'a token with a typo': { Authorization: `Bearer ${admin.token.slice(0, -1)}-` },
  "a client's key": { Authorization: `Bearer ${app.key}` },
  "a session's secret as the token": { Authorization: `Bearer ${adminSession.cookie.split('=')[1]}` },
  'a token with the scheme Basic': { Authorization: `Basic ${btoa(`x:${admin.token}`)}` },
  'only a scheme': { Authorization: 'Bearer' },
  'a token as a cookie': withCookie((cookie) => cookie.replace(/=.*/, `=${admin.token}`)),
  'an unknown session': withCookie((cookie) =>
    cookie.replace(/=.*/, `=${generateKey(randomBytes, 'session')}`),
  ),
  'a session without the secret of its page': { Cookie: adminSession.cookie },
  'a session with the secret of another page': headersOf({ ...viewerSession, cookie: adminSession.cookie }),
  'an empty session': withCookie((cookie) => cookie.replace(/=.*/, '=')),
  'a session under another name': withCookie((cookie) => cookie.replace(/^[^=]+/, 'session')),
};

const expectInvalid = async ({ method, ...operation }: Operation, kind: string) => {
  const headers = { ...fromConsole(app), ...elsewhere(), ...invalid[kind] };
  const { status, code } = await callAdmin(app, method, targetOf({ method, ...operation }), { headers });
  const expected = 'Cookie' in headers ? 'sign_in_required' : 'sign_in_failed';
  expect([kind, status, code]).toEqual([kind, 401, expected]);
};

test.each(Object.keys(invalid))('a request with %s gets 401', (kind) =>
  expectInvalid(adminsOnly[0] as Operation, kind),
);

test.each(protectedOnes.map((operation, turn) => [operation.operationId, operation, turn] as const))(
  '%s gets 401 without a valid token or session',
  async (_id, operation, turn) => {
    const { status, code, headers } = await callAdmin(app, operation.method, targetOf(operation));
    expect([status, code]).toEqual([401, 'sign_in_required']);
    expect(headers.get('www-authenticate')).toBe('Bearer realm="animal-store-admin"');
    await expectInvalid(operation, inTurn(Object.keys(invalid), turn));
  },
);

describe.each(adminsOnly)('$operationId', (operation) => {
  const { method } = operation;

  test('is rejected with 403 for a viewer, with a token or a session', async () => {
    const target = targetOf(operation);
    const headers = fromConsole(app);
    const answers = [
      await callAdmin(app, method, target, { token: viewer.token }),
      await callAdmin(app, method, target, { session: viewerSession, headers }),
    ];
    for (const { status, code } of answers) expect([status, code]).toEqual([403, 'role_insufficient']);
  });
});

const foreign: Record<string, Record<string, string>> = {
  'has neither Origin nor Sec-Fetch-Site': {},
  'has another origin': { Origin: 'https://evil.example' },
  'comes from another port of this machine': { Origin: 'http://127.0.0.1:1' },
  'comes from a sandboxed frame': { Origin: 'null' },
  'comes from the same host over https': { Origin: adminUrl(app).replace('http:', 'https:') },
  'comes from a host whose name only begins with this one': { Origin: `${adminUrl(app)}.evil.example` },
  'is cross-site': { 'Sec-Fetch-Site': 'cross-site' },
  'comes from the same site but another origin': { 'Sec-Fetch-Site': 'same-site' },
  'is typed into the address bar': { 'Sec-Fetch-Site': 'none' },
  'is cross-site but has the origin of the service': {
    Origin: adminUrl(app),
    'Sec-Fetch-Site': 'cross-site',
  },
  'has another origin but claims to be same-origin': {
    Origin: 'https://evil.example',
    'Sec-Fetch-Site': 'same-origin',
  },
};

const expectForeign = async (operation: Operation, kind: string) => {
  const headers = foreign[kind] ?? {};
  const { status, code } = await callAdmin(app, operation.method, targetOf(operation), {
    session: adminSession,
    headers,
  });
  expect([kind, status, code]).toEqual([kind, 403, 'cross_site_request']);
};

test.each(Object.keys(foreign))('a request with a session gets 403 if it %s', (kind) =>
  expectForeign(adminsOnly[0] as Operation, kind),
);

test.each(
  unsafeOnes.filter((one) => !isForAnybody(one)).map((one, turn) => [one.operationId, one, turn] as const),
)('%s with a session is rejected with 403 if the request comes from another site', (_id, operation, turn) =>
  expectForeign(operation, inTurn(Object.keys(foreign), turn)),
);

const forms = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain'];

test('the Location of every created object is the path of an operation that returns it', () => {
  // An object whose members, such as the id of its parent, are all 1.
  const made = new Proxy({}, { get: () => 1 }) as never;
  const locations = allAdminOperations.flatMap(({ success }) => success.location?.(made) ?? []);
  expect(locations.length).toBeGreaterThan(3);
  const reads = allAdminOperations.filter(isRead).map(targetOf);
  expect(locations.filter((location) => !reads.includes(location))).toEqual([]);
});

test.each(
  unsafeOnes
    .filter(({ body, upload }) => body ?? upload)
    .map((one, turn) => [one.operationId, one, turn] as const),
)('%s rejects the media types of HTML forms with 415', async (_id, operation, turn) => {
  const { status, code } = await callAdmin(app, operation.method, targetOf(operation), {
    session: adminSession,
    headers: { ...fromConsole(app), ...elsewhere(), 'Content-Type': inTurn(forms, turn) },
    body: '{"name":"x"}',
  });
  expect([status, code]).toEqual([415, 'unsupported_media_type']);
});

describe.each([...Map.groupBy(allAdminOperations, ({ path }) => path)])('%s', (path, those) => {
  const target = path.replace(/\{\w+\}/g, '1');

  test('rejects every unsupported method with 405 and an Allow header, and returns no CORS headers', async () => {
    const allowed = those.flatMap(allowedMethods).sort();
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
      if (allowed.includes(method)) continue;
      const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
      const answer = await callAdmin(app, method, target, { token: admin.token, headers });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allowed.join(', ')]);
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('is not served on the client port', async () => {
    for (const key of [admin.token, app.key]) {
      const headers = { Authorization: `Bearer ${key}`, ...headersOf(adminSession) };
      const response = await fetch(app.url + adminBasePath + target, { headers });
      expect(response.status).toBe(404);
    }
  });
});

test('the headers of every response forbid framing, sniffing, caching and content from other origins', async () => {
  const policy = adminHeaders['Content-Security-Policy'];
  expect(policy).toStartWith("default-src 'none';");
  expect(policy).not.toContain('unsafe');
  expect(policy).toContain("frame-ancestors 'none'");
  const expected = {
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
    'x-request-id': expect.any(String),
  };
  for (const [method, target] of [
    ['GET', '/session'],
    ['POST', '/session'],
    ['GET', '/elsewhere'],
    ['GET', 'root:/elsewhere'],
    ['GET', 'root:/metrics'],
    ['PUT', 'root:/'],
  ] as const) {
    const { headers } = await callAdmin(app, method, target);
    expect(Object.fromEntries(headers)).toMatchObject(expected);
  }
});

test('a name that contains a script is returned as JSON, which browsers do not execute', async () => {
  const name = '</script><script>alert(1)</script>';
  const body = { name, categoryId: 1 };
  const made = await callAdmin(app, 'POST', '/pets', { token: admin.token, body });
  expect(made.status).toBe(201);
  const { headers, body: shown } = await callAdmin(app, 'GET', '/pets', { token: viewer.token });
  expect(shown).toEqual([expect.objectContaining({ name })]);
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('the client port serves neither metrics nor the console', async () => {
  for (const path of ['/metrics', '/admin', '/admin/', '/assets/index.js', '/admin/v1/openapi.json']) {
    expect((await fetch(app.url + path, { headers: headersOf(adminSession) })).status).toBe(404);
  }
});
