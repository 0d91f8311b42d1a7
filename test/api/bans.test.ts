/** The rule of bans, exactly as it is published (contract, section 6). */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp, type Tenant, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

const day = 86_400;

/** One request a minute: the second is the first 429 of an episode. */
const scarce = { perMinute: 1, perDay: 1_000_000 };

/** One strike is a ban. Each test advances the clock and uses separate accounts. */
const strict = await startTestApp({ BAN_STRIKES: '1' });
afterAll(() => strict[Symbol.asyncDispose]());

async function get(app: TestApp, key: string): Promise<Answer> {
  return app.call('GET', '/pets', { key });
}

/** Uses the minute up and begins an episode of refusals. */
async function provoke(app: TestApp, { key }: Tenant): Promise<void> {
  expect((await get(app, key)).status).toBe(200);
  expect((await get(app, key)).error.code).toBe('rate_limit_exceeded');
}

/** Sends that many refused requests and returns the codes they were refused with, each once. */
async function insist(app: TestApp, { key }: Tenant, count: number): Promise<string[]> {
  const answers: Answer[] = [];
  for (let sent = 0; sent < count; sent++) answers.push(await get(app, key));
  return [...new Set(answers.map(({ error }) => error.code))];
}

/** Earns a ban where one strike is enough, and returns its length in seconds. */
async function earnBan(app: TestApp, tenant: Tenant): Promise<number> {
  await provoke(app, tenant);
  app.clock.advance(1);
  const answer = await get(app, tenant.key);
  expect(answer.error.code).toBe('api_key_banned');
  return answer.number('Retry-After');
}

describe('strikes', () => {
  test('100 of them ban the key, 99 do not, and a restart forgets none of it', async () => {
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

  test('never come from requests in the first second after the first 429, which were in flight', async () => {
    const tenant = await strict.tenant('enterprise', scarce);
    await provoke(strict, tenant);
    expect(await insist(strict, tenant, 5)).toEqual(['rate_limit_exceeded']);
    strict.clock.advance(0.999);
    expect(await insist(strict, tenant, 5)).toEqual(['rate_limit_exceeded']);
    strict.clock.advance(0.001);
    expect(await insist(strict, tenant, 1)).toEqual(['api_key_banned']);
  });

  test('never come from requests after Retry-After, even when they are refused again', async () => {
    const tenant = await strict.tenant('enterprise', scarce);
    const faster = await strict.app.admin.keys.create(tenant.account.id, 'faster');
    await provoke(strict, tenant);
    for (let minute = 0; minute < 3; minute++) {
      // Another key of the account uses up the minute, so this key is refused although it waited.
      strict.clock.advance(60);
      expect((await get(strict, faster.key)).status).toBe(200);
      expect((await get(strict, tenant.key)).error.code).toBe('rate_limit_exceeded');
    }
  });

  test('never come from a client that waits for Retry-After', async () => {
    const { key } = await strict.tenant('enterprise', { perMinute: 2, perDay: 10 });
    for (let request = 0; request < 40; request++) {
      const answer = await get(strict, key);
      if (answer.status === 200) continue;
      expect(answer.error.code).not.toBe('api_key_banned');
      strict.clock.advance(answer.number('Retry-After'));
    }
  });
});

describe('a ban', () => {
  test('lasts two minutes, says so, is not prolonged, and ends on the second it announced', async () => {
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

  test('costs the account nothing and leaves its other keys alone', async () => {
    const tenant = await strict.tenant('enterprise', { perMinute: 3, perDay: 1_000 });
    const other = await strict.app.admin.keys.create(tenant.account.id, 'other');
    for (let request = 0; request < 4; request++) await get(strict, tenant.key);
    strict.clock.advance(1);
    expect((await get(strict, tenant.key)).error.code).toBe('api_key_banned');
    expect((await get(strict, other.key)).error.code).toBe('rate_limit_exceeded');
    strict.clock.advance(59);
    const answer = await get(strict, other.key);
    expect(answer.header('RateLimit')).toBe('"minute";r=2;t=60, "day";r=996;t=86340');
    expect((await get(strict, tenant.key)).error.code).toBe('api_key_banned');
    expect((await get(strict, other.key)).header('RateLimit')).toContain('"minute";r=1;');
  });

  test('is twice as long each time, up to a day, and a first one again after 24 hours without', async () => {
    const tenant = await strict.tenant('enterprise', scarce);
    const lengths: number[] = [];
    for (let ban = 0; ban < 12; ban++) {
      const seconds = await earnBan(strict, tenant);
      lengths.push(seconds);
      strict.clock.advance(seconds);
    }
    const doubling = [120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 30_720, 61_440];
    expect(lengths).toEqual([...doubling, day, day]);
    strict.clock.advance(day - 2);
    expect(await earnBan(strict, tenant)).toBe(day);
    strict.clock.advance(day + day - 1);
    expect(await earnBan(strict, tenant)).toBe(120);
  });

  test('ends when an operator lifts it, with its strikes and its level', async () => {
    const tenant = await strict.tenant('enterprise', scarce);
    expect(await earnBan(strict, tenant)).toBe(120);
    strict.clock.advance(119);
    const own = async () => (await strict.operator.bans.list()).filter(({ keyId }) => keyId === tenant.keyId);
    expect(await own()).toMatchObject([
      { bannedUntil: new Date((strict.clock.seconds + 1) * 1_000).toISOString(), level: 0 },
    ]);
    await strict.operator.bans.lift(tenant.keyId);
    expect(await own()).toEqual([]);
    expect(await earnBan(strict, tenant)).toBe(120);
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
