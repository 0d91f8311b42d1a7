/** The order of checks (contract, section 2). The first check that fails determines the error. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile, startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { buyerOf } from '../support/orders.ts';

const app = await startAppForFile();
const owner = await buyerOf(app);
const placed = await owner.order();
const cancelled = await owner.order('cancel');
const spent = await buyerOf(app, [], { perMinute: 1, perDay: 10 });
await spent.call('GET', '/pets');
const unable = await buyerOf(app, ['orders:read']);

interface Request extends CallOptions {
  readonly method: string;
  readonly order: bigint;
  readonly end: string;
}

const right: Request = { method: 'POST', order: placed.id, end: '/approve', key: owner.key, body: '{}' };

/** Changes that make a request invalid, each with its error code, in the order of checks. */
const stages: readonly (readonly [code: string, change: Partial<Request>])[] = [
  ['missing_api_key', { key: null }],
  ['rate_limit_exceeded', { key: spent.key }],
  ['route_not_found', { end: '/aprove' }],
  ['method_not_allowed', { method: 'PUT' }],
  ['insufficient_scope', { key: unable.key }],
  ['unsupported_media_type', { type: 'text/plain' }],
  ['body_too_large', { body: ' '.repeat(16_385) }],
  ['invalid_json', { body: '{' }],
  ['invalid_parameter', { headers: { 'If-Match': 'bare' } }],
  ['order_not_found', { order: 999_999n }],
  ['precondition_failed', { headers: { 'If-Match': '"other"' } }],
  ['order_transition_not_allowed', { order: cancelled.id }],
];

async function codeOf({ method, order, end, ...options }: Request): Promise<string> {
  return (await app.call(method, `/orders/${order}${end}`, options)).error.code;
}

describe('if a request fails several checks, the first one determines the error', () => {
  const cases = stages.map(([code, change], at) => [code, change, at] as const);
  test.each(cases)('%s takes precedence over all later checks', async (code, change, at) => {
    expect(await codeOf({ ...right, ...change })).toBe(code);
    for (const [, later] of stages.slice(at + 1)) {
      expect(await codeOf({ ...right, ...later, ...change })).toBe(code);
    }
    const all = stages.slice(at).map(([, later]) => later);
    expect(await codeOf(Object.assign({}, right, ...all.toReversed()))).toBe(code);
    expect(await owner.shown(placed.id)).toEqual(placed);
  });

  test('api_key_banned takes precedence over rate limits', async () => {
    await using strict = await startTestApp({ BAN_STRIKES: '1' });
    const { key } = await strict.tenant('enterprise', { perMinute: 1, perDay: 1 });
    for (let request = 0; request < 2; request++) await strict.call('GET', '/pets', { key });
    strict.clock.advance(1);
    expect((await strict.call('GET', '/pets', { key })).error.code).toBe('api_key_banned');
    expect((await strict.call('GET', '/elsewhere', { key })).error.code).toBe('api_key_banned');
  });

  test('401, 429 and 405 take precedence over the 410 of a removed operation, and 410 over 403', async () => {
    await using gone = await startTestApp({ GET_PET_SUNSET: '2027-01-01' });
    const { call } = await buyerOf(gone, []);
    const none = await buyerOf(gone, [], { perMinute: 1, perDay: 1 });
    const statuses = [
      await call('GET', '/pets/1'),
      await call('POST', '/pets/1'),
      await call('GET', '/pets/1', { key: null }),
      await none.call('GET', '/pets/1'),
      await none.call('GET', '/pets/1'),
    ].map(({ status }) => status);
    expect(statuses).toEqual([410, 405, 401, 410, 429]);
  });
});

describe('404 route_not_found', () => {
  test.each([
    ...['/', '', '/pet', '/Pets', '/PETS', '/pets/', '/pets/1/', '/pets/1/toys', '/pets//1', '/v1/pets'],
    ...['/pets;x=1', '/pets%2F1', '/pets%3Flimit=1', '/pets%00', '/__proto__', '/%zz', '/*', '/:petId'],
  ])('is returned for a path under /v1 that matches no operation: %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await app.call(method, path);
      expect(answer.error).toMatchObject({ status: 404, code: 'route_not_found' });
    }
  });
});

test.each(['/', '/livez', '/readyz', '/openapi.json', '/nowhere', '/v1x', '/v2/pets'])(
  'a path outside /v1 requires no credential, and has no rate limit per account: %s',
  async (path) => {
    const response = await fetch(app.url + path, { redirect: 'manual' });
    expect(response.status).not.toBe(401);
    for (const name of response.headers.keys()) expect(name).not.toMatch(/ratelimit/);
  },
);
