/** The order of checks in the admin API, which determines the error code if several checks fail. */
import { describe, expect, test } from 'bun:test';
import { addOperator, adminUrl, callAdmin, fromConsole, headersOf, signIn } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';
import { exchange } from '../support/raw.ts';

const app = await startAppForFile({ ADMIN_ORIGIN: 'https://admin.example.com' });
const url = `http://127.0.0.1:${app.app.console?.port}`;

const admin = await addOperator(app, 'admin');
const viewer = await addOperator(app, 'viewer');
const local = await startAppForFile();

/** Sends a request with this Host header, and returns the response. */
async function ask(host: string, path = '/admin/v1/session'): Promise<{ status: number; code?: string }> {
  const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${admin.token}\r\nConnection: close\r\n\r\n`;
  const [response] = await exchange(url, head);
  const { status = 0, body = '' } = response ?? {};
  return { status, ...(body.startsWith('{') && (JSON.parse(body) as { code?: string })) };
}

describe('421 host_unknown', () => {
  test.each([
    'evil.example',
    'evil.example:3001',
    'admin.example.com.evil.example',
    'localhost.evil.example',
    'x',
  ])('is returned for the host %s, on every path', async (host) => {
    for (const path of [
      '/admin/v1/session',
      '/',
      '/assets/x.js',
      '/metrics',
      '/admin/v1/openapi.json',
      '/no',
    ])
      expect(await ask(host, path)).toMatchObject({ status: 421, code: 'host_unknown' });
  });

  test.each([
    '127.0.0.1',
    '127.0.0.1:8080',
    'localhost:8080',
    'LOCALHOST',
    '[::1]:1',
    '10.0.0.7:3001',
    'admin.example.com',
  ])('is not returned for %s (an IP address, localhost or the configured host)', async (host) => {
    expect((await ask(host)).status).toBe(200);
  });
});

describe('the console in a browser', () => {
  const change = (headers: Record<string, string>) =>
    fetch(`${url}/admin/v1/session`, { method: 'DELETE', headers });

  test('can be reached at the configured address, and through a tunnel on any local port', async () => {
    const pairs = [
      { Host: 'admin.example.com', Origin: 'https://admin.example.com' },
      // Some proxies replace the Host header.
      { Host: '127.0.0.1:3001', Origin: 'https://admin.example.com' },
      { Host: 'localhost:8080', Origin: 'http://localhost:8080' },
      { Host: 'localhost:8080', 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const headers of pairs) {
      const response = await fetch(`${url}/admin/v1/session`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({ token: viewer.token }),
      });
      expect(response.status).toBe(201);
      const { secret } = (await response.json()) as { secret: string };
      const session = headersOf({ cookie: response.headers.getSetCookie()[0]?.split(';')[0] ?? '', secret });
      expect((await change({ ...headers, ...session })).status).toBe(204);
    }
  });

  test('cannot be used from another machine without TLS', async () => {
    const headers = { Host: '10.0.0.7:3001', Origin: 'http://10.0.0.7:3001' };
    const response = await fetch(`${url}/admin/v1/session`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: viewer.token }),
    });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      403,
      'cross_site_request',
    ]);
  });
});

describe('the admin API checks', async () => {
  const session = await signIn(local, (await addOperator(local, 'viewer')).token);
  const { token: viewers } = await addOperator(local, 'viewer');
  const { token: admins } = await addOperator(local, 'admin');
  const wrongOrigin = { Origin: 'https://evil.example' };
  const form = { 'Content-Type': 'text/plain' };

  test.each([
    ['the host before the token', 'DELETE', '/no', { headers: { Host: 'evil.example' } }, 'host_unknown'],
    ['the credential before the path', 'GET', '/no', {}, 'sign_in_required'],
    ['the credential before the origin', 'DELETE', '/no', { headers: wrongOrigin }, 'sign_in_required'],
    ['the origin before the path', 'DELETE', '/no', { session, headers: wrongOrigin }, 'cross_site_request'],
    ['the path before the method', 'DELETE', '/no', { token: viewers }, 'route_not_found'],
    ['the method before the role', 'DELETE', '/accounts', { token: viewers }, 'method_not_allowed'],
    [
      'the role before the media type',
      'POST',
      '/accounts',
      { token: viewers, headers: form, body: '{' },
      'role_insufficient',
    ],
    [
      'the media type before the body',
      'POST',
      '/accounts',
      { token: admins, headers: form, body: '{' },
      'unsupported_media_type',
    ],
    [
      'the body before the resource',
      'PATCH',
      '/accounts/99',
      { token: admins, body: { nam: 1 } },
      'invalid_body',
    ],
    ['parameters before the resource', 'GET', '/orders/99?x=1', { token: viewers }, 'invalid_parameter'],
    ['the resource last', 'GET', '/orders/99', { token: viewers }, 'order_not_found'],
  ] as const)('%s', async (_what, method, target, options, code) => {
    expect((await callAdmin(local, method, target, options)).code).toBe(code);
  });

  test('a token before a cookie, and requires no Origin header with a token', async () => {
    const body = { name: 'Ozzy', categoryId: 1 };
    const { status } = await callAdmin(local, 'POST', '/pets', { token: admins, session, body });
    expect(status).toBe(201);
    const refused = await callAdmin(local, 'GET', '/session', { token: 'aso_x', session });
    expect(refused.code).toBe('sign_in_failed');
  });
});

describe('a client operation called by an operator', async () => {
  const { token, name } = await addOperator(local, 'admin');
  const add = async () => {
    const body = { name: 'Ozzy', categoryId: 1 };
    const answer = await callAdmin(local, 'POST', '/pets', { token, body });
    return { ...answer, id: (answer.body as { id: number }).id };
  };

  test('is recorded with the operator, and the state before and after the change', async () => {
    const { id, headers } = await add();
    expect(headers.get('location')).toBe(`/admin/v1/pets/${id}`);
    const { text } = await callAdmin(local, 'PATCH', `/pets/${id}`, { token, body: { name: 'Ozzy II' } });
    const [last, first] = await local.app.admin.storage.audit.list(undefined, 2, { object: `pet:${id}` });
    expect(last).toMatchObject({ actor: `operator:${name}`, operation: 'updatePet', after: text });
    expect(first).toMatchObject({ operation: 'createPet', before: null, after: last?.before });
  });

  test("does not count against any account's limits, and returns page links within the admin API", async () => {
    await add();
    await add();
    const { headers } = await callAdmin(local, 'GET', '/pets?limit=1', { token });
    expect(headers.get('link')).toMatch(/^<\/admin\/v1\/pets\?limit=1&cursor=\S+>; rel="next", /);
    expect([...headers.keys()].filter((header) => header.includes('ratelimit'))).toEqual([]);
  });
});

test('HEAD returns the same headers as GET, without a body', async () => {
  const { token } = await addOperator(local, 'viewer');
  for (const target of ['/session', '/pets', 'root:/admin/v1/openapi.json']) {
    const get = await callAdmin(local, 'GET', target, { token });
    const head = await callAdmin(local, 'HEAD', target, { token });
    expect([head.status, head.text]).toEqual([get.status, '']);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
  }
});

test('a request id that contains a secret is replaced, so that the secret is not logged', async () => {
  const { token } = await addOperator(local, 'viewer');
  for (const id of [token, `x-${viewer.token}`, 'ok-1']) {
    const { headers } = await callAdmin(local, 'GET', '/session', { token, headers: { 'X-Request-Id': id } });
    expect(headers.get('x-request-id') === id).toBe(id === 'ok-1');
  }
});

test('response headers contain no text from a request', async () => {
  const { token } = await addOperator(local, 'viewer');
  for (const sent of ['a%0d%0aSet-Cookie:%20x=1', '%22%3E%3Cscript%3E', 'x\u2028y']) {
    const { headers, status } = await callAdmin(local, 'GET', `/pets?cursor=${sent}`, { token });
    expect(status).toBe(400);
    expect(headers.getSetCookie()).toEqual([]);
  }
  const injected = `GET /admin/v1/session HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\n b: c\r\nConnection: close\r\n\r\n`;
  const [response] = await exchange(adminUrl(local), injected);
  expect(response?.headers.get('x-request-id') ?? '').not.toContain('b: c');
  expect(fromConsole(local)).toBeDefined();
});
