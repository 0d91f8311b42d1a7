/** The request log. Request logging is optional; changes to keys are always logged. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createRequestLog } from '../../src/http/logs/request-log.ts';
import type { IncomingRequest } from '../../src/http/pipeline/context.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
import { newPet } from '../support/pets.ts';

const origin = 'https://shop.example.com';

async function appWith(settings: Record<string, string>) {
  const { log, lines } = keptLog();
  const app = await startTestApp({ CORS_ORIGINS: origin, ...settings }, log);
  return {
    app,
    lines,
    requests: () => lines.filter(({ msg }) => msg === 'request'),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** Sends a request of every kind, identified by its request id. */
async function callInEveryWay(app: TestApp): Promise<void> {
  const named = (id: string) => ({ headers: { 'X-Request-Id': id } });
  const spent = await app.tenant('enterprise', { perMinute: 1, perDay: 9 });
  await app.call('GET', '/pets', { ...named('listed') });
  await app.call('POST', '/pets', { ...named('created'), body: newPet() });
  await app.call('GET', '/pets/1', { ...named('found') });
  await app.call('GET', `/pets?limit=0&api_key=${app.key}`, named('invalid'));
  await app.call('GET', `/pets/${app.key}`, named('missing'));
  await app.call('GET', `/${app.key}`, named('elsewhere'));
  await app.call('GET', '/pets', { ...named('keyless'), key: null });
  await app.call('GET', '/pets', { ...named('admitted'), key: spent.key });
  await app.call('GET', '/pets', { ...named('refused'), key: spent.key });
  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'GET', 'X-Request-Id': 'preflight' };
  await app.call('OPTIONS', '/pets', { key: null, headers: preflight });
  await fetch(`${app.url}/livez`, named('alive'));
  await fetch(`${app.url}/${app.key}`, named('nowhere'));
}

describe('the request log', () => {
  let under: Awaited<ReturnType<typeof appWith>>;
  beforeAll(async () => {
    under = await appWith({ LOG_REQUESTS: 'all', TRUSTED_PROXIES: '127.0.0.1' });
  });
  beforeEach(() => under.lines.splice(0));
  afterAll(() => under[Symbol.asyncDispose]());

  test('contains every request with its caller, address and outcome if LOG_REQUESTS=all', async () => {
    await callInEveryWay(under.app);
    const seen = under.requests().map((line) => {
      expect(line).toMatchObject({ level: 30, address: '127.0.0.1' });
      expect(line.microseconds).toBeGreaterThan(0);
      const { requestId, method, operation, route, status, code } = line;
      return [requestId, method, operation, route, status, code].map((value) => value ?? '').join(' ');
    });
    expect(seen).toEqual([
      'listed GET listPets /v1/pets 200 ',
      'created POST createPet /v1/pets 201 ',
      'found GET getPet /v1/pets/:petId 200 ',
      'invalid GET listPets /v1/pets 400 invalid_parameter',
      'missing GET getPet /v1/pets/:petId 404 pet_not_found',
      'elsewhere GET   404 route_not_found',
      'keyless GET listPets /v1/pets 401 missing_api_key',
      'admitted GET listPets /v1/pets 200 ',
      'refused GET listPets /v1/pets 429 rate_limit_exceeded',
      'preflight OPTIONS  /v1/pets 204 ',
      'alive GET  /livez 200 ',
      'nowhere GET   404 ',
    ]);
    // A new store already has an account and a key, so the test's account and key have the id 2.
    const byId = Object.fromEntries(under.requests().map((line) => [line.requestId, line]));
    expect(byId.listed).toMatchObject({ account: 2, key: 2 });
    expect(byId.refused).toMatchObject({ account: 3, key: 3 });
    for (const id of ['keyless', 'preflight', 'alive']) expect(byId[id]).not.toHaveProperty('account');
    expect(JSON.stringify(under.lines)).not.toContain(under.app.key.slice(4, 30));
  });

  test('contains the size of each response body', async () => {
    const { app } = under;
    await app.call('POST', '/pets', { body: newPet() });
    const sent: number[] = [];
    for (const method of ['GET', 'GET', 'HEAD']) {
      const { text } = await app.call(method, '/pets');
      sent.push(Buffer.byteLength(text));
    }
    const { headers, text } = await app.call('GET', '/pets/99');
    sent.push(Buffer.byteLength(text));
    const { headers: tagged } = await app.call('GET', '/pets');
    await app.call('GET', '/pets', { headers: { 'If-None-Match': tagged.get('etag') ?? '' } });
    expect(headers.get('content-type')).toBe('application/json');
    const [, ...logged] = under.requests().map(({ bytes }) => bytes);
    expect(sent[0]).toBeGreaterThan(2);
    expect(logged).toEqual([...sent, sent[0], 0]);
    await fetch(`${app.url}/livez`);
    expect(under.requests().at(-1)).not.toHaveProperty('bytes');
  });

  test('contains the trace id of a valid traceparent header', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const parent = '00f067aa0ba902b7';
    const cases: [traceparent: string, traceId: string | undefined][] = [
      [`00-${trace}-${parent}-01`, trace],
      [`cc-${trace}-${parent}-00-what-will-be-the-future-like`, trace],
      [`00-${trace}-${parent}-01-more`, undefined],
      [`ff-${trace}-${parent}-01`, undefined],
      [`00-${trace.toUpperCase()}-${parent}-01`, undefined],
      [`00-${'0'.repeat(32)}-${parent}-01`, undefined],
      [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
      [`00-${trace}-${parent}`, undefined],
      [`x 00-${trace}-${parent}-01`, undefined],
    ];
    for (const [traceparent] of cases) await under.app.call('GET', '/pets', { headers: { traceparent } });
    expect(under.requests().map(({ traceId }) => traceId)).toEqual(cases.map(([, traceId]) => traceId));
  });

  test('contains each request with a 4xx or 5xx response if LOG_REQUESTS=errors', async () => {
    await using under = await appWith({ LOG_REQUESTS: 'errors' });
    await callInEveryWay(under.app);
    const ids = under.requests().map(({ requestId }) => requestId);
    expect(ids).toEqual(['invalid', 'missing', 'elsewhere', 'keyless', 'refused', 'nowhere']);
  });

  test('contains each request that took at least LOG_SLOW_MS if LOG_REQUESTS=slow', async () => {
    const { log, lines } = keptLog();
    const request = { request: new Request('http://a/'), requestId: 'x', client: () => '192.0.2.1' };
    const write = createRequestLog(log, 'slow', 500);
    const after = (ms: number) => {
      const incoming = { ...request, startedAt: performance.now() - ms } as IncomingRequest;
      write?.(incoming, { status: 200 });
    };
    after(400);
    expect(lines).toEqual([]);
    after(500);
    expect(lines.length).toBe(1);
    expect(lines[0]?.microseconds).toBeGreaterThanOrEqual(500_000);

    await using under = await appWith({ LOG_REQUESTS: 'slow', LOG_SLOW_MS: '600000' });
    await under.app.call('GET', '/pets');
    expect(under.requests()).toEqual([]);
  });

  test('is empty if LOG_REQUESTS=off, which is the default', async () => {
    await using under = await appWith({});
    await under.app.call('GET', '/pets?limit=0');
    expect(under.requests()).toEqual([]);
  });

  test('is empty if LOG_LEVEL excludes its lines', () => {
    const { log } = keptLog();
    log.level = 'warn';
    expect(createRequestLog(log, 'all', 500)).toBeUndefined();
  });

  test('contains the address of the client behind a trusted proxy', async () => {
    for (const sent of ['203.0.113.7:4711', '2001:db8::7', 'junk']) {
      await under.app.call('GET', '/pets', { headers: { 'X-Forwarded-For': sent } });
    }
    const addresses = under.requests().map(({ address }) => address);
    expect(addresses).toEqual(['203.0.113.7', '2001:db8::7', '127.0.0.1']);
  });
});

describe('with any value of LOG_REQUESTS', () => {
  /** Messages that are logged at startup. */
  const ofStart = ['created a new store', 'created the first account and API key'];
  const messagesIn = (lines: readonly Readonly<Record<string, unknown>>[]) =>
    lines.filter(({ msg }) => !ofStart.includes(String(msg))).map(({ level: _, time: __, ...line }) => line);

  test('a ban is logged once, when it begins, with its expiry', async () => {
    await using under = await appWith({ BAN_STRIKES: '2', BAN_FIRST_SECONDS: '300' });
    const { app, lines } = under;
    const { key, keyId, account } = await app.tenant('enterprise', { perMinute: 1, perDay: 1_000 });
    const call = () => app.call('GET', '/pets', { key });
    await call();
    await call();
    app.clock.advance(2);
    await call();
    expect(messagesIn(lines)).toEqual([]);
    const banned = await call();
    expect(banned.error.code).toBe('api_key_banned');
    await call();
    const until = new Date(banned.number('X-RateLimit-Reset') * 1_000).toISOString();
    const ban = { msg: 'API key banned', key: keyId, account: account.id, until };
    expect(messagesIn(lines)).toEqual([ban]);
  });

  test("an operator's change to a key or its account is logged when the key is next used", async () => {
    await using under = await appWith({});
    const { app, lines } = under;
    const { key, keyId, account } = await app.tenant('free');
    const used = () => app.call('GET', '/pets', { key });
    await used();
    expect(messagesIn(lines)).toEqual([]);
    await app.operator.accounts.update(account.id, { plan: 'pro' });
    await used();
    await used();
    await app.operator.keys.rotate(keyId, 60_000);
    await used();
    await app.operator.keys.revoke(keyId);
    expect((await used()).status).toBe(401);
    await used();
    const both = { key: keyId, account: account.id };
    expect(messagesIn(lines)).toEqual([
      { msg: 'account limits changed', account: account.id, perMinute: 300, perDay: 10_000 },
      { msg: 'API key expiry changed', ...both, expiresAt: new Date(app.clock.now() + 60_000).toISOString() },
      { msg: 'API key revoked', ...both },
    ]);
  });

  test('the ids of the first account and its key are logged, but not the key itself', async () => {
    await using under = await appWith({});
    expect(under.lines).toContainEqual(
      expect.objectContaining({ msg: 'created the first account and API key', account: 1, key: 1 }),
    );
    const secret = under.app.app.firstKey?.key.slice(4) ?? expect.unreachable();
    expect(JSON.stringify(under.lines)).not.toContain(secret);
  });
});
