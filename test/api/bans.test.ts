/** The published rules for bans (contract, section 6). */
import { describe, expect, test } from 'bun:test';
import { startTestApp, type Tenant, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

/** One request per minute, so that the second request gets a 429. */
const scarce = { perMinute: 1, perDay: 1_000_000 };

async function get(app: TestApp, key: string): Promise<Answer> {
  return app.call('GET', '/pets', { key });
}

/** Exhausts the per-minute limit and sends one more request, which is rejected. */
async function provoke(app: TestApp, { key }: Tenant): Promise<void> {
  expect((await get(app, key)).status).toBe(200);
  expect((await get(app, key)).error.code).toBe('rate_limit_exceeded');
}

/** Sends this many requests, which are rejected, and returns their distinct error codes. */
async function insist(app: TestApp, { key }: Tenant, count: number): Promise<string[]> {
  const answers: Answer[] = [];
  for (let sent = 0; sent < count; sent++) answers.push(await get(app, key));
  return [...new Set(answers.map(({ error }) => error.code))];
}

describe('strikes', () => {
  test('survive a restart, and the hundredth strike bans the key', async () => {
    await using app = await startTestApp();
    const tenant = await app.tenant('enterprise', scarce);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 99)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(59);
    await app.restart();
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 1)).toEqual(['api_key_banned']);
    await app.restart();
    expect(await insist(app, tenant, 1)).toEqual(['api_key_banned']);
    app.clock.advance(120);
    expect((await get(app, tenant.key)).status).toBe(200);
  });
});

describe('a ban', () => {
  test('follows the configured thresholds', async () => {
    await using app = await startTestApp({
      BAN_STRIKES: '3',
      BAN_WITHIN_SECONDS: '10',
      BAN_FIRST_SECONDS: '7',
      BAN_LONGEST_SECONDS: '10',
      BAN_FORGIVEN_AFTER_SECONDS: '100',
    });
    const tenant = await app.tenant('enterprise', scarce);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 2)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(10.001);
    expect(await insist(app, tenant, 2)).toEqual(['rate_limit_exceeded']);
    const third = await get(app, tenant.key);
    expect([third.error.code, third.number('Retry-After')]).toEqual(['api_key_banned', 7]);
    app.clock.advance(60);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 2)).toEqual(['rate_limit_exceeded']);
    expect((await get(app, tenant.key)).number('Retry-After')).toBe(10);
  });
});
