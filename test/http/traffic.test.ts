/** Observability: each response under /v1 is counted exactly once, by operation and outcome. */
import { describe, expect, test } from 'bun:test';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { requestContextOf, serve } from '../support/request-context.ts';

const origin = 'https://shop.example.com';

const countsOf = async ({ app }: TestApp) => {
  const [traffic] = await app.watch.traffic.traffic();
  return Object.fromEntries(
    (traffic?.counts ?? []).map(({ operation, code, requests }) => [`${operation} ${code}`, requests]),
  );
};

describe('every response under /v1', () => {
  test('is counted per operation and outcome', async () => {
    await using app = await startTestApp({ CORS_ORIGINS: origin, AUTH_FAILURES_PER_MINUTE: '3' });
    const spent = await app.tenant('enterprise', { perMinute: 1, perDay: 9 });
    await app.call('GET', '/pets');
    await app.call('HEAD', '/pets');
    const { headers } = await app.call('GET', '/pets');
    await app.call('GET', '/pets', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
    await app.call('POST', '/pets', { body: newPet() });
    await app.call('POST', '/pets', { body: '{' });
    await app.call('GET', '/pets/99');
    await app.call('GET', '/nowhere');
    await app.call('DELETE', '/pets');
    await app.call('GET', '/rate-limit', { key: spent.key });
    await app.call('GET', '/pets', { key: spent.key });
    await app.call('GET', '/orders', { key: spent.key });
    for (let failure = 0; failure < 4; failure++) await app.call('GET', '/pets', { key: null });
    await app.call('OPTIONS', '/pets', {
      key: null,
      headers: { Origin: origin, 'Access-Control-Request-Method': 'GET' },
    });
    await fetch(`${app.url}/livez`);
    expect(await countsOf(app)).toEqual({
      'listPets ok': 5,
      'listPets missing_api_key': 3,
      'listPets too_many_failed_authentications': 1,
      'createPet ok': 1,
      'createPet invalid_json': 1,
      'getPet pet_not_found': 1,
      'getRateLimit ok': 1,
      'listOrders rate_limit_exceeded': 1,
      'none route_not_found': 1,
      'none method_not_allowed': 1,
      // The CORS preflight. Pages outside /v1 are not counted.
      'none ok': 1,
    });
    const [traffic] = await app.app.watch.traffic.traffic();
    expect(traffic?.pageCache).toEqual({ hits: 2, misses: 3 });
    expect(traffic?.inFlight).toBe(0);
  });

  test('is counted per key, and updates the time of last use', async () => {
    await using app = await startTestApp();
    const { account, key, keyId } = await app.tenant('enterprise', { perMinute: 3, perDay: 9 });
    await app.call('GET', '/pets', { key });
    await app.call('GET', '/pets/7', { key });
    await app.call('GET', '/nowhere', { key });
    await app.call('GET', '/pets', { key });
    app.clock.advance(90);
    await app.call('GET', '/rate-limit', { key });
    await app.app.watch.recordUsage();
    const { usage } = app.app.admin.storage;
    const today = app.clock.now() - (app.clock.now() % 86_400_000);
    const range = { since: today, until: app.clock.now() };
    const [period, ...others] = await usage.periods({ accountId: account.id }, 'hour', range);
    expect(others).toEqual([]);
    expect(period).toMatchObject({ ok: 2, refused: 2, limited: 1, failed: 0 });
    const minute = app.clock.now() - (app.clock.now() % 60_000);
    expect(await usage.lastUses([keyId], range.since)).toEqual([{ keyId, lastUsedAt: minute, requests: 5 }]);
    const [deprecated] = await usage.topKeys('deprecated', range, 9);
    expect(deprecated).toMatchObject({ keyId, deprecated: 1 });
  });

  test('is counted even when neither the store nor the limits can be read', async () => {
    await using app = await startTestApp();
    const traffic = new TrafficCounter(app.clock);
    const broken = () => {
      throw new StorageUnavailable('gone');
    };
    const context = requestContextOf(app);
    const admission = Object.assign(Object.create(context.admission), { admit: broken, peek: broken });
    await using server = serve({ ...context, admission, traffic });
    const { status } = await fetch(`${server.url}/v1/pets`, {
      headers: { Authorization: `Bearer ${app.key}` },
    });
    expect(status).toBe(503);
    expect(traffic.traffic().counts).toEqual([
      { operation: 'listPets', code: 'service_unavailable', requests: 1 },
    ]);
  });
});

test('counts are recorded during a graceful shutdown', async () => {
  await using app = await startTestApp();
  await app.call('GET', '/pets');
  await app.restart();
  const { usage } = app.app.admin.storage;
  const range = { since: app.clock.now() - 60_000, until: app.clock.now() + 1 };
  const rows = await usage.minutes(range);
  expect(rows.map(({ operation, code, requests }) => [operation, code, requests])).toEqual([
    ['listPets', 'ok', 1],
  ]);
});
