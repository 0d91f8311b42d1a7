/** The published rules for bans (contract, section 6). */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp, type Tenant, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

/** One request per minute, so that the second request gets a 429. */
const scarce = { perMinute: 1, perDay: 1_000_000 };

/** A single strike causes a ban. Each test advances the clock and creates new accounts. */
const strict = await startTestApp({ BAN_STRIKES: '1' });
afterAll(() => strict[Symbol.asyncDispose]());

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

/** Triggers a ban after a single strike, and returns its duration in seconds. */
async function earnBan(app: TestApp, tenant: Tenant): Promise<number> {
  await provoke(app, tenant);
  app.clock.advance(1);
  const answer = await get(app, tenant.key);
  expect(answer.error.code).toBe('api_key_banned');
  return answer.number('Retry-After');
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
  test('lasts two minutes, is not extended, and ends at the exact second given in the response', async () => {
    const tenant = await strict.tenant('enterprise', scarce);
    strict.clock.advance(1.3 - (strict.clock.now() % 1_000) / 1_000);
    expect(await earnBan(strict, tenant)).toBe(120);
    const end = strict.clock.seconds + 120;
    for (const pause of [0, 1, 30, 60, 28.699]) {
      strict.clock.advance(pause);
      const answer = await get(strict, tenant.key);
      expect(answer.error).toMatchObject({ status: 429, code: 'api_key_banned' });
      expect(answer.number('X-RateLimit-Remaining')).toBe(0);
      expect(answer.number('X-RateLimit-Reset')).toBe(end);
      expect(answer.number('Retry-After')).toBe(Math.ceil(end - strict.clock.now() / 1_000));
    }
    strict.clock.set(end * 1_000 - 1);
    expect((await get(strict, tenant.key)).error.code).toBe('api_key_banned');
    strict.clock.set(end * 1_000);
    expect((await get(strict, tenant.key)).status).toBe(200);
  });

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
