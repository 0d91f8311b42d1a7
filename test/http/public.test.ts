import { expect, setDefaultTimeout, test } from 'bun:test';
import { Connection } from '../process/connection.ts';
import { startTestApp } from '../support/app.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const page = '/openapi.json';

test('an address gets a bounded number of answers without a key per minute, then 429 until the minute is over', async () => {
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
  // A date that is set makes the minute neither longer nor shorter.
  for (const seconds of [-3_600, 7_200, -3_600]) {
    app.clock.step(seconds);
    expect((await get(page)).headers.get('retry-after')).toBe('40');
  }
  app.clock.advance(39.499);
  expect((await get('/docs')).headers.get('retry-after')).toBe('1');
  app.clock.advance(0.001);
  expect((await get('/docs')).status).toBe(200);
});

test('probes and requests with a key are not counted against the address, nor refused for it', async () => {
  await using app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '1' });
  for (let round = 0; round < 3; round++) {
    for (const path of ['/livez', '/readyz']) expect((await fetch(app.url + path)).status).toBe(200);
    expect((await app.call('GET', '/pets')).status).toBe(200);
  }
  expect((await fetch(app.url + page)).status).toBe(200);
  expect((await fetch(app.url + page)).status).toBe(429);
  expect((await fetch(`${app.url}/livez`)).status).toBe(200);
});

test('behind a trusted proxy each client has its own minute', async () => {
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

test('refusals are held back in a bounded number; those beyond it close their connection', async () => {
  await using app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '1' });
  expect((await fetch(app.url + page)).status).toBe(200);
  using opened = new DisposableStack();
  const connections = await Promise.all(Array.from({ length: 1_010 }, () => Connection.open(app.url)));
  for (const connection of connections) {
    opened.use(connection).write(`GET ${page} HTTP/1.1\r\nHost: test\r\n\r\n`);
  }
  const refusals = await Promise.all(connections.map((connection) => connection.reply()));
  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([429]));
  expect(refusals.filter(({ closes }) => closes)).toHaveLength(10);
});
