import { describe, expect, test } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

const day = 86_400;

/** Sends that many requests one after the other and returns their answers. */
async function burst(app: TestApp, key: string, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let sent = 0; sent < count; sent++) answers.push(await app.call('GET', '/pets', { key }));
  return answers;
}

const limitsOf = (answer: Answer) => ({
  limit: answer.number('X-RateLimit-Limit'),
  remaining: answer.number('X-RateLimit-Remaining'),
  reset: answer.number('X-RateLimit-Reset'),
});

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

describe('each plan', () => {
  test.each(Object.entries(plans))(
    '%s admits its requests of a minute and not one more',
    async (plan, quota) => {
      await using app = await startTestApp();
      const { key } = await app.tenant(plan as keyof typeof plans);
      const reset = app.clock.seconds + 60;
      const answers = await burst(app, key, quota.perMinute);
      expect(statuses(answers)).toEqual(Array(quota.perMinute).fill(200));
      for (const [index, answer] of answers.entries()) {
        expect(limitsOf(answer)).toEqual({
          limit: quota.perMinute,
          remaining: quota.perMinute - index - 1,
          reset,
        });
      }
      expect(answers[0]?.header('RateLimit-Policy')).toBe(
        `"minute";q=${quota.perMinute};w=60, "day";q=${quota.perDay};w=86400`,
      );
      const refused = await app.call('GET', '/pets', { key });
      expect(refused.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
      expect(limitsOf(refused)).toEqual({ limit: quota.perMinute, remaining: 0, reset });
    },
  );

  test('free admits its 1000 requests of a day and not one more', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('free');
    const end = app.clock.seconds + day;
    for (let minute = 0; minute < 16; minute++) {
      expect(statuses(await burst(app, key, 60))).toEqual(Array(60).fill(200));
      app.clock.advance(60);
    }
    expect(statuses(await burst(app, key, 40))).toEqual(Array(40).fill(200));
    const refused = await app.call('GET', '/pets', { key });
    expect(refused.error).toMatchObject({ status: 429, code: 'daily_quota_exceeded' });
    expect(limitsOf(refused)).toEqual({ limit: 1_000, remaining: 0, reset: end });
    expect(refused.number('Retry-After')).toBe(end - app.clock.seconds);
  });

  test('enterprise has the limits given when the account was made', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 3 });
    expect(statuses(await burst(app, key, 3))).toEqual([200, 200, 429]);
    app.clock.advance(60);
    const [third, fourth] = await burst(app, key, 2);
    expect([third?.status, fourth?.error.code]).toEqual([200, 'daily_quota_exceeded']);
  });

  test('admits exactly its quota when requests come together', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('free');
    const answers = await Promise.all(Array.from({ length: 150 }, () => app.call('GET', '/pets', { key })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    const left = answers.filter(({ status }) => status === 200).map((answer) => limitsOf(answer).remaining);
    expect(new Set(left).size).toBe(60);
  });
});

describe('a window', () => {
  test('opens with the first request, at its whole second, and keeps its Reset to the end', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('free');
    app.clock.advance(0.4);
    const reset = app.clock.seconds + 60;
    for (const pause of [0, 0.5, 20, 30, 8.6, 0.499]) {
      app.clock.advance(pause);
      expect(limitsOf((await app.call('GET', '/pets', { key })) as Answer).reset).toBe(reset);
    }
    app.clock.advance(0.001);
    expect(app.clock.seconds).toBe(reset);
    const next = await app.call('GET', '/pets', { key });
    expect(limitsOf(next)).toEqual({ limit: 60, remaining: 59, reset: reset + 60 });
  });

  test('stays closed until the next request, however late it comes', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('free');
    await app.call('GET', '/pets', { key });
    app.clock.advance(1_000_000);
    const answer = await app.call('GET', '/pets', { key });
    expect(limitsOf(answer)).toEqual({ limit: 60, remaining: 59, reset: app.clock.seconds + 60 });
    expect(answer.header('RateLimit')).toBe('"minute";r=59;t=60, "day";r=999;t=86400');
  });

  test('lets in whoever waits exactly Retry-After, and nobody a second earlier', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 1_000 });
    for (const wait of [0.25, 0.75, 10, 59.999]) {
      expect((await app.call('GET', '/pets', { key })).status).toBe(200);
      app.clock.advance(wait);
      const refused = await app.call('GET', '/pets', { key });
      const seconds = refused.number('Retry-After');
      expect(seconds).toBeGreaterThanOrEqual(1);
      app.clock.advance(seconds - 1);
      if (seconds > 1) expect((await app.call('GET', '/pets', { key })).status).toBe(429);
      app.clock.advance(1);
    }
  });
});

describe('the binding window', () => {
  test('is the one with fewer requests remaining', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 3, perDay: 5 });
    const start = app.clock.seconds;
    const [first] = await burst(app, key, 3);
    expect(limitsOf(first as Answer)).toEqual({ limit: 3, remaining: 2, reset: start + 60 });
    app.clock.advance(60);
    const [fourth] = await burst(app, key, 1);
    expect(limitsOf(fourth as Answer)).toEqual({ limit: 5, remaining: 1, reset: start + day });
    expect(fourth?.header('RateLimit')).toBe('"minute";r=2;t=60, "day";r=1;t=86340');
  });

  test('is on a tie the one that ends later: the day', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 2 });
    const start = app.clock.seconds;
    const answers = await burst(app, key, 3);
    expect(answers.map(limitsOf)).toEqual([
      { limit: 2, remaining: 1, reset: start + day },
      { limit: 2, remaining: 0, reset: start + day },
      { limit: 2, remaining: 0, reset: start + day },
    ]);
    expect(answers[2]?.error.code).toBe('daily_quota_exceeded');
    expect(answers[2]?.number('Retry-After')).toBe(day);
  });

  test('is on a tie the one that ends later: a minute that outlives its day', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 2 });
    await app.call('GET', '/pets', { key });
    app.clock.advance(day - 10);
    const reset = app.clock.seconds + 60;
    const [second, refused] = await burst(app, key, 2);
    expect(limitsOf(second as Answer)).toEqual({ limit: 1, remaining: 0, reset });
    expect(refused?.error.code).toBe('rate_limit_exceeded');
    expect(limitsOf(refused as Answer)).toEqual({ limit: 1, remaining: 0, reset });
    app.clock.advance(refused?.number('Retry-After') ?? 0);
    expect((await app.call('GET', '/pets', { key })).status).toBe(200);
  });

  test('is on a refusal the exhausted one, though the other has as few left', async () => {
    await using app = await startTestApp();
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 10 });
    const start = app.clock.seconds;
    const [, refused] = await burst(app, key, 2);
    expect(limitsOf(refused as Answer)).toEqual({ limit: 1, remaining: 0, reset: start + 60 });
    expect(refused?.header('RateLimit')).toBe('"minute";r=0;t=60, "day";r=9;t=86400');
  });
});

describe('a date that is set while the service runs', () => {
  test.each([-200_000, -3_600, -61, -59, -1, 1, 3_600, 200_000])(
    'by %i s forgets no request and puts no Reset in the past',
    async (seconds) => {
      await using app = await startTestApp();
      const { key } = await app.tenant('enterprise', { perMinute: 3, perDay: 1_000 });
      expect(statuses(await burst(app, key, 2))).toEqual([200, 200]);
      app.clock.step(seconds);
      const [third, fourth] = await burst(app, key, 2);
      expect([third?.status, fourth?.status]).toEqual([200, 429]);
      for (const answer of [third, fourth]) {
        expect(limitsOf(answer as Answer).reset).toBeGreaterThan(app.clock.seconds);
      }
      app.clock.advance(fourth?.number('Retry-After') ?? 0);
      expect((await app.call('GET', '/pets', { key })).status).toBe(200);
    },
  );

  test('decides what has expired and what was removed from then on', async () => {
    await using app = await startTestApp({ GET_PET_SUNSET: '2027-01-15T12:00:00Z' });
    const { account } = await app.tenant('free');
    const { key } = await app.app.admin.keys.create(account.id, 'short', 3_600_000);
    const status = async (target: string) => (await app.call('GET', target, { key })).status;
    expect([await status('/pets'), await status('/pets/1')]).toEqual([200, 404]);
    app.clock.step(3_600);
    expect(await status('/pets')).toBe(401);
    app.clock.step(-3_600);
    expect(await status('/pets')).toBe(200);
    app.clock.step(7_200);
    expect((await app.call('GET', '/pets/1')).status).toBe(410);
  });
});
