import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { generateKey } from '../../src/domain/key.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

const app = await startAppForFile();

interface Shown {
  readonly plan: string;
  readonly minute: { readonly limit: number; readonly remaining: number; readonly resetAt: string };
  readonly day: { readonly limit: number; readonly remaining: number; readonly resetAt: string };
  readonly bannedUntil: string | null;
}

const look = (of: TestApp, key: string, method = 'GET') => of.call(method, '/rate-limit', { key });
const shown = ({ text }: Answer) => JSON.parse(text) as Shown;
const spend = (of: TestApp, key: string) => of.call('GET', '/pets', { key });
const at = (of: TestApp, seconds: number) => new Date((of.clock.seconds + seconds) * 1_000).toISOString();

describe("a key's rate limit", () => {
  test('reports the plan and both windows, with members in the order defined by the contract', async () => {
    const { key } = await app.tenant('free');
    await spend(app, key);
    expect((await look(app, key)).text).toBe(
      `{"plan":"free","minute":{"limit":60,"remaining":59,"resetAt":"${at(app, 60)}"},` +
        `"day":{"limit":1000,"remaining":999,"resetAt":"${at(app, 86_400)}"},"bannedUntil":null}`,
    );
  });

  test('is returned without counting as a request, with matching headers', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 5, perDay: 9 });
    await spend(app, key);
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await look(app, key, method);
      expect(answer.status).toBe(200);
      expect(answer.number('X-RateLimit-Remaining')).toBe(4);
      expect(answer.headers.has('ETag')).toBe(false);
      expect(answer.header('RateLimit')).toBe('"minute";r=4;t=60, "day";r=8;t=86400');
    }
    expect((await spend(app, key)).number('X-RateLimit-Remaining')).toBe(3);
  });

  test('reports zero remaining requests and the reset time while the limit is exhausted', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 100 });
    for (let sent = 0; sent < 2; sent++) await spend(app, key);
    expect((await spend(app, key)).error.code).toBe('rate_limit_exceeded');
    const answer = await look(app, key);
    expect([answer.status, answer.headers.has('Retry-After')]).toEqual([200, false]);
    expect(answer.number('X-RateLimit-Remaining')).toBe(0);
    expect(shown(answer)).toMatchObject({
      minute: { remaining: 0, resetAt: at(app, 60) },
      bannedUntil: null,
    });
    app.clock.advance(60);
    expect(shown(await look(app, key)).minute.remaining).toBe(2);
  });
});

describe('a ban', () => {
  const scarce = { perMinute: 1, perDay: 1_000 };

  test('is returned with its expiry, and is not extended', async () => {
    await using strict = await startTestApp({ BAN_STRIKES: '1' });
    const { key, account } = await strict.tenant('enterprise', scarce);
    const other = await strict.operator.keys.create(account.id, 'other');
    for (let sent = 0; sent < 2; sent++) await spend(strict, key);
    strict.clock.advance(1);
    expect((await spend(strict, key)).error.code).toBe('api_key_banned');
    const end = at(strict, 120);
    for (let second = 0; second < 119; second += 17) {
      const answer = await look(strict, key);
      expect([answer.status, shown(answer).bannedUntil]).toEqual([200, end]);
      expect(answer.number('X-RateLimit-Remaining')).toBe(0);
      expect(shown(await look(strict, other.key)).bannedUntil).toBeNull();
      strict.clock.advance(17);
    }
    strict.clock.set(end);
    expect(shown(await look(strict, key)).bannedUntil).toBeNull();
    expect((await spend(strict, key)).status).toBe(200);
  });
});

describe('getRateLimit', () => {
  test("counts a 401 against the caller's address, and returns 429 when the address's limit is reached", async () => {
    await using strict = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '3' });
    const wrong = generateKey(randomBytes);
    expect((await strict.call('GET', '/rate-limit', { key: null })).error.code).toBe('missing_api_key');
    const answer = await look(strict, wrong);
    expect(answer.error.code).toBe('invalid_api_key');
    expect(answer.number('X-RateLimit-Remaining')).toBe(1);
    await look(strict, wrong);
    expect((await look(strict, wrong)).error.code).toBe('too_many_failed_authentications');
    expect((await look(strict, strict.key)).status).toBe(200);
  });
});
