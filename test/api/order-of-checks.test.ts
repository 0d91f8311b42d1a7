/** The order in which a request is checked (contract, section 2): with two mistakes, the earlier one is answered. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startTestApp();
await addPets(app, 1);
const spent = await app.tenant('enterprise', { perMinute: 1, perDay: 1_000 });
await app.call('GET', '/pets', { key: spent.key });
const { account } = await app.tenant('business');
const unable = await app.app.admin.keys.create(account.id, 'unable', undefined, ['orders:read']);
afterAll(() => app[Symbol.asyncDispose]());

const oversize = ' '.repeat(16_385);

/** What is wrong with a request, from what is checked first to what is checked last, and the code it then gets. */
const stages: readonly { readonly code: string; readonly change: (request: Request) => Request }[] = [
  { code: 'missing_api_key', change: (request) => ({ ...request, key: null }) },
  { code: 'rate_limit_exceeded', change: (request) => ({ ...request, key: spent.key }) },
  { code: 'route_not_found', change: (request) => ({ ...request, path: '/elsewhere' }) },
  { code: 'method_not_allowed', change: (request) => ({ ...request, method: 'PUT' }) },
  { code: 'insufficient_scope', change: (request) => ({ ...request, key: unable.key }) },
  { code: 'unsupported_media_type', change: (request) => ({ ...request, type: 'text/plain' }) },
  { code: 'body_too_large', change: (request) => ({ ...request, body: oversize }) },
  { code: 'invalid_json', change: (request) => ({ ...request, body: '{' }) },
  { code: 'invalid_parameter', change: (request) => ({ ...request, query: '?dry=1' }) },
];

interface Request extends CallOptions {
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

const right: Request = {
  method: 'POST',
  path: '/pets',
  query: '',
  key: app.key,
  type: 'application/json',
  body: newPet(),
};

async function codeOf({ method, path, query, ...options }: Request): Promise<string> {
  return (await app.call(method, path + query, options)).error.code;
}

describe('of two mistakes the earlier is answered', () => {
  for (const [at, { code, change }] of stages.entries()) {
    test(`${code} before everything checked later`, async () => {
      expect(await codeOf(change(right))).toBe(code);
      for (const later of stages.slice(at + 1)) expect(await codeOf(change(later.change(right)))).toBe(code);
    });
  }

  test('all of them together get the first', async () => {
    const worst = stages.toReversed().reduce((request, { change }) => change(request), right);
    expect(await codeOf(worst)).toBe('missing_api_key');
  });

  test('a ban before the limits', async () => {
    await using strict = await startTestApp({ BAN_STRIKES: '1' });
    const { key } = await strict.tenant('enterprise', { perMinute: 1, perDay: 1 });
    for (let request = 0; request < 2; request++) await strict.call('GET', '/pets', { key });
    strict.clock.advance(1);
    expect((await strict.call('GET', '/pets', { key })).error.code).toBe('api_key_banned');
    expect((await strict.call('GET', '/elsewhere', { key })).error.code).toBe('api_key_banned');
  });
});

describe('404 route_not_found', () => {
  const near = [
    '/',
    '',
    '/pet',
    '/Pets',
    '/PETS',
    '/pets/',
    '/pets/1/',
    '/pets/1/toys',
    '/pets//1',
    '/order',
    '/v1/pets',
  ];
  test.each([
    ...near,
    '/pets;x=1',
    '/pets%2F1',
    '/pets%3Flimit=1',
    '/pets%00',
    '/__proto__',
    '/%zz',
    '/*',
    '/:petId',
  ])('for a path under the version that is none of an operation: %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await app.call(method, path);
      expect(answer.error).toMatchObject({ status: 404, code: 'route_not_found' });
    }
  });

  test('costs a request, shows the limits, and needs a key', async () => {
    const { key } = await app.tenant('free');
    const answer = await app.call('GET', '/elsewhere', { key });
    expect(answer.number('X-RateLimit-Remaining')).toBe(59);
    expect(answer.header('RateLimit')).toContain('"minute";r=59;t=60');
    expect((await app.call('GET', '/elsewhere', { key: null })).status).toBe(401);
  });
});

describe('405 method_not_allowed', () => {
  test.each(['PUT', 'OPTIONS', 'PROPFIND'])(
    'for %s, with Allow, at the cost of a request',
    async (method) => {
      for (const [target, allow] of [
        ['/pets', 'GET, HEAD, POST'],
        ['/pets/1', 'DELETE, GET, HEAD, PATCH'],
      ] as const) {
        const { key } = await app.tenant('free');
        const answer = await app.call(method, target, { key });
        expect(answer.error).toMatchObject({ status: 405, code: 'method_not_allowed' });
        expect(answer.header('Allow')).toBe(allow);
        expect(answer.number('X-RateLimit-Remaining')).toBe(59);
      }
    },
  );

  test('for POST on an animal', async () => {
    const answer = await app.call('POST', '/pets/1', { body: newPet() });
    expect(answer.error).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(answer.header('Allow')).toBe('DELETE, GET, HEAD, PATCH');
  });
});

describe('outside the version', () => {
  test.each(['/', '/livez', '/readyz', '/openapi.json', '/nowhere', '/v1x', '/v2/pets'])(
    'there is no credential and no limit: %s',
    async (path) => {
      const response = await fetch(app.url + path, { redirect: 'manual' });
      expect(response.status).not.toBe(401);
      for (const name of response.headers.keys()) expect(name).not.toMatch(/ratelimit/);
    },
  );
});
