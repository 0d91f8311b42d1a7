/** The rule of bans, exactly as it is published (contract, section 6). */
import { describe, expect, test } from 'bun:test';
import { startTestApp, type Tenant, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

const day = 86_400;

/** One request a minute: the second is the first 429 of an episode. */
const scarce = { perMinute: 1, perDay: 1_000_000 };

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
  test('100 of them ban the key, 99 do not', async () => {
    await using app = await startTestApp();
    const tenant = await app.tenant('enterprise', scarce);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 99)).toEqual(['rate_limit_exceeded']);
    expect(await insist(app, tenant, 1)).toEqual(['api_key_banned']);
  });

  test('are never requests within the first second after the first 429, which were under way', async () => {
    await using app = await startTestApp();
    const tenant = await app.tenant('enterprise', scarce);
    await provoke(app, tenant);
    expect(await insist(app, tenant, 150)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(0.999);
    expect(await insist(app, tenant, 150)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(0.001);
    expect(await insist(app, tenant, 99)).toEqual(['rate_limit_exceeded']);
  });

  test('are never requests after Retry-After has run out', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', scarce);
    const faster = await app.app.admin.keys.create(tenant.account.id, 'faster');
    await provoke(app, tenant);
    for (let minute = 0; minute < 5; minute++) {
      // Another key of the account takes the one request there is, so this one is refused though it waited.
      app.clock.advance(60);
      expect((await get(app, faster.key)).status).toBe(200);
      expect((await get(app, tenant.key)).error.code).toBe('rate_limit_exceeded');
    }
  });

  test('count only when they fall within ten minutes', async () => {
    await using app = await startTestApp();
    const tenant = await app.tenant('enterprise', scarce);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 99)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(599.001);
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 99)).toEqual(['rate_limit_exceeded']);
    app.clock.advance(58.999);
    expect(await insist(app, tenant, 1)).not.toEqual(['rate_limit_exceeded']);
  });

  test('add up over several episodes within ten minutes', async () => {
    await using app = await startTestApp();
    const tenant = await app.tenant('enterprise', scarce);
    for (let episode = 0; episode < 9; episode++) {
      await provoke(app, tenant);
      app.clock.advance(1);
      expect(await insist(app, tenant, 11)).toEqual(['rate_limit_exceeded']);
      app.clock.advance(59);
    }
    await provoke(app, tenant);
    app.clock.advance(1);
    expect(await insist(app, tenant, 1)).toEqual(['api_key_banned']);
  });

  test('never come from a client that waits as it is told', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 100 });
    for (let request = 0; request < 400; request++) {
      const answer = await get(app, key);
      if (answer.status === 200) continue;
      expect(answer.error.code).not.toBe('api_key_banned');
      app.clock.advance(answer.number('Retry-After'));
    }
  });
});

describe('a ban', () => {
  test('lasts two minutes, says so, is not prolonged, and ends on the second it announced', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', scarce);
    app.clock.advance(0.3);
    expect(await earnBan(app, tenant)).toBe(120);
    const end = app.clock.seconds + 120;
    for (const pause of [0, 1, 30, 60, 28.699]) {
      app.clock.advance(pause);
      const answer = await get(app, tenant.key);
      expect(answer.error).toMatchObject({ status: 429, code: 'api_key_banned' });
      expect(answer.number('X-RateLimit-Remaining')).toBe(0);
      expect(answer.number('X-RateLimit-Reset')).toBe(end);
      expect(answer.number('Retry-After')).toBe(Math.ceil(end - app.clock.now() / 1_000));
    }
    app.clock.set(end * 1_000 - 1);
    expect((await get(app, tenant.key)).error.code).toBe('api_key_banned');
    app.clock.set(end * 1_000);
    expect((await get(app, tenant.key)).status).toBe(200);
  });

  test('costs the account nothing and leaves its other keys alone', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', { perMinute: 3, perDay: 1_000 });
    const other = await app.app.admin.keys.create(tenant.account.id, 'other');
    for (let request = 0; request < 4; request++) await get(app, tenant.key);
    app.clock.advance(1);
    expect((await get(app, tenant.key)).error.code).toBe('api_key_banned');
    expect((await get(app, other.key)).error.code).toBe('rate_limit_exceeded');
    app.clock.advance(59);
    const answer = await get(app, other.key);
    expect(answer.header('RateLimit')).toBe('"minute";r=2;t=60, "day";r=996;t=86340');
    expect((await get(app, tenant.key)).error.code).toBe('api_key_banned');
    expect((await get(app, other.key)).header('RateLimit')).toContain('"minute";r=1;');
  });

  test('is twice as long each time, up to a day', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', scarce);
    const lengths: number[] = [];
    for (let ban = 0; ban < 13; ban++) {
      const seconds = await earnBan(app, tenant);
      lengths.push(seconds);
      app.clock.advance(seconds);
    }
    const doubling = [120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 30_720, 61_440];
    expect(lengths).toEqual([...doubling, day, day, day]);
  });

  test('is a first one again after 24 hours without a ban, and not a second before', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', scarce);
    expect(await earnBan(app, tenant)).toBe(120);
    app.clock.advance(120 + day - 2);
    expect(await earnBan(app, tenant)).toBe(240);
    app.clock.advance(240 + day - 1);
    expect(await earnBan(app, tenant)).toBe(120);
  });

  test('ends at once when an operator lifts it, with its strikes and its level', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const tenant = await app.tenant('enterprise', scarce);
    expect(await earnBan(app, tenant)).toBe(120);
    app.clock.advance(119);
    expect(await app.operator.bans.list()).toMatchObject([
      { keyId: tenant.keyId, bannedUntil: (app.clock.seconds + 1) * 1_000, level: 0 },
    ]);
    await app.operator.bans.lift(tenant.keyId);
    expect(await app.operator.bans.list()).toEqual([]);
    expect(await earnBan(app, tenant)).toBe(120);
  });

  test('survives a restart, and so do the strikes before it', async () => {
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

  test('follows the thresholds configured', async () => {
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
