import { expect, test as oneAtATime } from 'bun:test';
import { handleRequest } from '../../src/http/pipeline/pipeline.ts';
import { createPublicRoutes } from '../../src/http/public/public-routes.ts';
import { startTestApp } from '../support/app.ts';
import { incomingOf, requestContextOf } from '../support/request-context.ts';

// Most tests wait for delayed rejections.
const test = oneAtATime.concurrent;

const page = '/docs/errors';

test('without a key, an address gets a limited number of responses per minute, then 429', async () => {
  await using app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '3' });
  const get = (path: string, method = 'GET') => fetch(app.url + path, { method, redirect: 'manual' });
  expect([(await get(page)).status, (await get('/', 'HEAD')).status, (await get('/none')).status]).toEqual([
    200, 302, 404,
  ]);
  app.clock.advance(20.5);
  const refused = await get(page);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40']);
  expect(await refused.json()).toEqual({
    code: 'rate_limit_exceeded',
    message: expect.stringContaining('unauthenticated requests from this address'),
    status: 429,
  });
  // Clock changes do not affect the length of the one-minute window.
  for (const seconds of [-3_600, 7_200, -3_600]) {
    app.clock.step(seconds);
    expect((await get(page)).headers.get('retry-after')).toBe('40');
  }
  app.clock.advance(39.499);
  expect((await get('/docs')).headers.get('retry-after')).toBe('1');
  app.clock.advance(0.001);
  expect((await get('/docs')).status).toBe(200);
});

test("health checks and requests with a key do not count against the address's limit, and are not rejected because of it", async () => {
  await using app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '1' });
  for (let round = 0; round < 3; round++) {
    for (const path of ['/livez', '/readyz']) expect((await fetch(app.url + path)).status).toBe(200);
    expect((await app.call('GET', '/pets')).status).toBe(200);
  }
  expect((await fetch(app.url + page)).status).toBe(200);
  expect((await fetch(app.url + page)).status).toBe(429);
  expect((await fetch(`${app.url}/livez`)).status).toBe(200);
});

test('a response counts once per 64 KiB', async () => {
  await using app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '68' });
  const read = async (path: string, method = 'GET') => {
    const response = await fetch(app.url + path, { method, headers: { 'Accept-Encoding': 'identity' } });
    await response.bytes();
    return response.status;
  };
  // 67 parts.
  const script = '/docs/scalar.js';
  expect([await read(script), await read(page), await read(page)]).toEqual([200, 200, 429]);
  app.clock.advance(60);
  expect([await read(script, 'HEAD'), await read(script), await read(page)]).toEqual([200, 200, 429]);
});

test('each client behind a trusted proxy has a separate limit', async () => {
  await using app = await startTestApp({
    PUBLIC_REQUESTS_PER_MINUTE: '1',
    TRUSTED_PROXIES: '127.0.0.1,::1',
  });
  const from = async (client: string) =>
    (await fetch(app.url + page, { headers: { 'X-Forwarded-For': client } })).status;
  expect([await from('203.0.113.1'), await from('203.0.113.2'), await from('203.0.113.1')]).toEqual([
    200, 200, 429,
  ]);
});

const options = {
  openapi: () => '',
  publicUrl: undefined,
  address: () => '',
  perMinute: 1,
  health: () => [],
};

test.each([
  ['rejections', '/openapi.json', 429],
  ['health checks over the budget', '/livez', 200],
])(
  'at most 1,000 %s are delayed at a time, and the connections of the others are closed',
  async (_, path, status) => {
    await using app = await startTestApp();
    const { respond } = createPublicRoutes(requestContextOf(app), options);
    const get = () => respond(incomingOf(app.url + path, {}), path);
    expect((await get()).status).toBe(200);
    // All requests are sent in one event-loop tick, so that they overlap.
    const responses = await Promise.all(Array.from({ length: 1_010 }, get));
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([status]));
    expect(responses.filter(({ headers }) => headers.get('connection') === 'close')).toHaveLength(10);
  },
);

test('without a key, the runtime does not parse the URL of a request that is refused', async () => {
  await using app = await startTestApp();
  const context = requestContextOf(app);
  const { respond } = createPublicRoutes(context, options);
  const incoming = (path: string) => {
    const made = incomingOf(app.url + path, {});
    const url = {
      get: () => {
        throw new Error('the URL is parsed when it is read');
      },
    };
    Object.defineProperty(made.request, 'url', url);
    return made;
  };
  expect((await respond(incoming('/none'), undefined)).status).toBe(404);
  expect((await respond(incoming('/docs/guides'), '/docs/guides')).status).toBe(429);
  for (const path of ['/v1/pets', '/v1/none'])
    expect((await handleRequest(context, incoming(path))).status).toBe(401);
});
