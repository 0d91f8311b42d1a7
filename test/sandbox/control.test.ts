/** The routes under `/sandbox`. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import type { SandboxAccount } from '../../sandbox/accounts.ts';
import type { RequestEntry } from '../../sandbox/requests.ts';
import { exchange } from '../support/raw.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { until } from '../support/wait.ts';

const sandbox = await startTestSandbox();
afterEach(() => sandbox.steered('POST', '/reset'));
afterAll(() => sandbox[Symbol.asyncDispose]());

interface ClockState {
  readonly now: string;
  readonly advancedSeconds: number;
}
const advance = (to: object) => sandbox.steered<ClockState>('POST', '/clock', to);
const ozzy = { body: '{"name":"Ozzy","categoryId":1}' };

describe('advancing the clock', () => {
  test('ends a rate limit window', async () => {
    const user = await sandbox.account();
    expect((await user.call('GET', '/pets', { fault: 'remaining=0' })).number('x-ratelimit-remaining')).toBe(
      0,
    );
    expect((await user.call('GET', '/pets')).status).toBe(429);
    expect((await advance({ advanceSeconds: 60 })).advancedSeconds).toBe(60);
    expect((await user.call('GET', '/pets')).number('x-ratelimit-remaining')).toBe(59);
  });

  test('can make a key expire', async () => {
    const user = await sandbox.account({ expiresInSeconds: 3_600 });
    expect((await user.call('GET', '/pets')).status).toBe(200);
    await advance({ advanceSeconds: 3_600 });
    expect((await user.call('GET', '/pets')).error.code).toBe('invalid_api_key');
  });

  test('can move past the sunset date of getPet, and changes the Date header of responses', async () => {
    const user = await sandbox.account();
    await user.call('POST', '/pets', ozzy);
    expect((await user.call('GET', '/pets/1')).status).toBe(200);
    expect((await advance({ to: '2030-12-05T00:00:00Z' })).now).toStartWith('2030-12-05T00:00:00');
    const removed = await user.call('GET', '/pets/1');
    expect(removed.error.code).toBe('operation_removed');
    expect(removed.header('date')).toStartWith('Thu, 05 Dec 2030 00:00:');
  });

  test('is rejected if it would move the clock backwards or past the year 9998', async () => {
    for (const body of [
      { advanceSeconds: -1 },
      { to: '2020-01-01T00:00:00Z' },
      { to: '9999-01-01T00:00:00Z' },
    ]) {
      const response = await sandbox.steer('POST', '/clock', body);
      expect(response.status).toBe(400);
      expect(((await response.json()) as { message: string }).message).toContain(
        'The clock can only be advanced',
      );
    }
  });
});

describe('resetting the sandbox', () => {
  test('restores animals, ids, keys, limits, bans, faults, the clock and the list of requests', async () => {
    const [free] = await sandbox.steered<SandboxAccount[]>('GET', '/accounts');
    const ask = (method: string, headers: Record<string, string> = {}) =>
      fetch(`${sandbox.url}/v1/pets`, {
        method,
        headers: { Authorization: `Bearer ${free?.key}`, 'Content-Type': 'application/json', ...headers },
        ...(method === 'POST' && ozzy),
      });
    for (let round = 1; round <= 2; round++) {
      const added = await ask('POST');
      expect(await added.json()).toMatchObject({ id: 1 });
      expect(added.headers.get('x-ratelimit-remaining')).toBe('59');
      const fresh = await sandbox.account();
      expect(fresh.account).toBe(5);
      // Makes the service cache the key and the list.
      expect(JSON.parse((await fresh.call('GET', '/pets')).text)).toHaveLength(1);
      expect(await (await ask('GET')).json()).toHaveLength(1);
      await sandbox.steered('POST', '/faults', { faults: 'status=500' });
      await advance({ advanceSeconds: 7 });
      expect((await ask('GET', { 'X-Sandbox': 'ban=1h' })).status).toBe(429);
      await sandbox.steered('POST', '/reset');
      expect(await sandbox.steered<object[]>('GET', '/faults')).toEqual([]);
      expect(await sandbox.steered<object[]>('GET', '/requests')).toEqual([]);
      expect((await sandbox.steered<ClockState>('GET', '/clock')).advancedSeconds).toBe(0);
      expect((await fresh.call('GET', '/pets')).status).toBe(401);
      const listed = await ask('GET');
      expect(await listed.json()).toEqual([]);
      await sandbox.steered('POST', '/reset');
    }
  });

  test('works even if the clock is at the latest possible date', async () => {
    const user = await sandbox.account();
    await advance({ to: '9998-12-31T00:00:00Z' });
    expect((await user.call('GET', '/pets')).status).toBe(200);
    expect((await fetch(`${sandbox.url}/readyz`)).status).toBe(200);
    await sandbox.steered('POST', '/reset');
    expect((await fetch(`${sandbox.url}/readyz`)).status).toBe(200);
    expect(
      (await (await sandbox.account()).call('POST', '/pets', ozzy)).number('x-ratelimit-remaining'),
    ).toBe(59);
  });
});

describe('recorded requests', () => {
  test('are listed with all details that a test needs, and without keys', async () => {
    const user = await sandbox.account();
    const headers = { 'X-Request-Id': 'mine' };
    await user.call('GET', `/pets?limit=${user.key}`, { headers, fault: 'delay=1ms' });
    await user.call('GET', '/pets', { fault: 'cut=before' }).catch(() => undefined);
    const requests = await user.requests();
    // Bun's fetch resends a GET if a reused connection breaks.
    expect(requests.slice(0, 2)).toEqual([
      {
        number: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        method: 'GET',
        path: '/v1/pets?limit=ask_…',
        operation: 'listPets',
        account: user.account,
        plan: 'free',
        requestId: 'mine',
        status: 400,
        code: 'invalid_parameter',
        fault: 'delay=1ms',
      },
      expect.objectContaining({ path: '/v1/pets', status: null, code: null, fault: 'cut=before' }),
    ]);
    expect(JSON.stringify(requests)).not.toContain(user.key);
  });

  test('can be filtered by account and deleted', async () => {
    const [one, other] = [await sandbox.account(), await sandbox.account()];
    for (const user of [one, other, one]) await user.call('GET', '/inventory');
    expect(await one.requests()).toHaveLength(2);
    await sandbox.steered('DELETE', `/requests?account=${one.account}`);
    expect(await sandbox.steered<RequestEntry[]>('GET', '/requests')).toMatchObject([
      { account: other.account },
    ]);
  });
});

describe('sandbox accounts', () => {
  test.each(['free', 'pro', 'business', 'enterprise'])(
    'exist for the %s plan, and can be created',
    async (plan) => {
      const accounts = await sandbox.steered<SandboxAccount[]>('GET', '/accounts');
      const first = accounts.find((account) => account.plan === plan);
      const fresh = await sandbox.account({ plan });
      expect(fresh).toMatchObject({ plan, perMinute: first?.perMinute, perDay: first?.perDay });
      expect((await fresh.call('POST', '/pets', ozzy)).number('x-ratelimit-limit')).toBe(fresh.perMinute);
    },
  );

  test('have keys with the requested scopes, or with all scopes by default', async () => {
    const reader = await sandbox.account({ scopes: ['pets:read'] });
    expect((await reader.call('GET', '/pets')).status).toBe(200);
    expect((await reader.call('POST', '/pets', ozzy)).error.code).toBe('insufficient_scope');
    expect((await (await sandbox.account()).call('GET', '/orders')).status).toBe(200);
  });

  test('can have custom limits on the enterprise plan', async () => {
    const user = await sandbox.account({ plan: 'enterprise', perMinute: 3, perDay: 10 });
    expect((await user.call('GET', '/pets')).number('x-ratelimit-remaining')).toBe(2);
  });
});

describe('an invalid request to /sandbox is rejected with an API error', () => {
  test.each<[string, string, unknown, number, string, RegExp]>([
    ['GET', '/nothing', undefined, 404, 'route_not_found', /GET \/sandbox lists/],
    ['PUT', '/faults', {}, 405, 'method_not_allowed', /method/],
    ['POST', '/faults', {}, 400, 'invalid_body', /faults must be a string/],
    ['POST', '/accounts', { scopes: ['pets:eat'] }, 400, 'invalid_body', /must be one of "pets:read"/],
    ['DELETE', '/stores/999', undefined, 404, 'route_not_found', /no store 999/],
    ['GET', '/stores/1', undefined, 405, 'method_not_allowed', /method/],
    ['POST', '/faults', { faults: 'statsu=503' }, 400, 'invalid_body', /"statsu=503" is not a fault/],
    ['POST', '/faults', { faults: 'status=503', acount: 1 }, 400, 'invalid_body', /acount/],
    ['POST', '/faults', { faults: 'status=503', account: 999 }, 404, 'account_not_found', /999/],
    ['GET', '/requests?account=999', undefined, 404, 'account_not_found', /999/],
    ['POST', '/clock', {}, 400, 'invalid_body', /either "advanceSeconds" or "to"/],
    ['POST', '/clock', { to: 'tomorrow' }, 400, 'invalid_body', /must be a date/],
    ['POST', '/clock', { advanceSeconds: 1.5 }, 400, 'invalid_body', /advanceSeconds must be a whole number/],
    ['POST', '/accounts', { plan: 'gold' }, 400, 'invalid_body', /Unknown plan "gold"/],
    ['POST', '/accounts', { perMinute: 5 }, 400, 'invalid_body', /Only plan "enterprise"/],
    ['GET', '/requests?acount=5', undefined, 400, 'invalid_parameter', /\?account=5/],
  ])('%s %s %j', async (method, path, body, status, code, message) => {
    const response = await sandbox.steer(method, path, body);
    const error = (await response.json()) as { message: string };
    expect(response.status).toBe(status);
    expect(error).toMatchObject({ code, status, message: expect.stringMatching(message) });
    expect(response.headers.get('x-request-id')).not.toBeNull();
  });
});

test('a revoked key is rejected, and its event stream ends', async () => {
  const user = await sandbox.account();
  const headers = { Authorization: `Bearer ${user.key}` };
  const stream = await fetch(`${sandbox.url}/v1/events/stream`, { headers });
  await sandbox.steered('POST', '/keys/revoke', { key: user.key });
  expect((await user.call('GET', '/pets')).error.code).toBe('invalid_api_key');
  expect(await stream.text()).toStartWith('retry: 2000\n');
  expect((await sandbox.steer('POST', '/keys/revoke', { key: 'ask_unknown' })).status).toBe(404);
});

test('the sandbox refuses connections for a number of seconds, and closes open ones', async () => {
  await using own = await startTestSandbox();
  const user = await own.account();
  const headers = { Authorization: `Bearer ${user.key}` };
  const stream = await fetch(`${own.url}/v1/events/stream`, { headers });
  await own.steered('POST', '/refuse', { seconds: 2 });
  await stream.text().catch(() => undefined);
  const refused = await fetch(`${own.url}/v1/pets`).catch(({ code }) => code);
  expect(refused).toBe('ECONNREFUSED');
  await until(() =>
    fetch(`${own.url}/v1/pets`).then(
      () => true,
      () => false,
    ),
  );
  expect((await user.call('GET', '/pets')).status).toBe(200);
  for (const seconds of [0, 601]) expect((await own.steer('POST', '/refuse', { seconds })).status).toBe(400);
});

describe('the sandbox index', () => {
  test('is text for browsers and JSON for programs', async () => {
    const text = await (await sandbox.steer('GET', '')).text();
    for (const { key } of sandbox.accounts) expect(text).toContain(key);
    for (const path of ['/faults', '/clock', '/accounts', '/requests', '/reset'])
      expect(text).toContain(path);
    const json = await (await sandbox.steer('GET', '', undefined, { Accept: 'application/json' })).json();
    expect(json).toMatchObject({ url: sandbox.url, accounts: sandbox.accounts, faults: [] });
  });
});

describe('a web page cannot control the sandbox', () => {
  test.each<Record<string, string>>([
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
  ])('from another origin: %j', async (headers) => {
    const response = await sandbox.steer('POST', '/reset', undefined, headers);
    expect({ status: response.status, ...((await response.json()) as object) }).toMatchObject({
      status: 403,
      code: 'cross_site_request',
    });
  });

  test.each(['evil.example', 'evil.example:4010', '127.0.0.1.evil.example', 'localhost.example'])(
    'through DNS rebinding: %s',
    async (host) => {
      const [answer] = await exchange(
        sandbox.url,
        `GET /sandbox HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer?.status).toBe(421);
      expect(answer?.body).toContain('"host_unknown"');
    },
  );

  test.each([
    'localhost:4010',
    '127.0.0.1',
    '[::1]:4010',
    'sandbox:4010',
    'host.docker.internal',
    '192.0.2.1',
  ])('but a program can, with the host name %s', async (host) => {
    const [answer] = await exchange(
      sandbox.url,
      `HEAD /sandbox HTTP/1.1\r\nHost: ${host}\r\nX-Request-Id: head\r\nConnection: close\r\n\r\n`,
    );
    expect(answer?.status).toBe(200);
  });
});
