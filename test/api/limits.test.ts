import { describe, expect, test } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

const day = 86_400;

/** Each test advances the clock and creates new accounts. */
const app = await startAppForFile();

const get = (key: string) => app.call('GET', '/pets', { key });

/** Sends this many requests one after the other, and returns the responses. */
async function burst(key: string, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let sent = 0; sent < count; sent++) answers.push(await get(key));
  return answers;
}

const limitsOf = (answer: Answer | undefined) => ({
  limit: answer?.number('X-RateLimit-Limit'),
  remaining: answer?.number('X-RateLimit-Remaining'),
  reset: answer?.number('X-RateLimit-Reset'),
});

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

describe('a plan', () => {
  test('named free admits exactly 60 requests per minute', async () => {
    const { key } = await app.tenant('free');
    const reset = app.clock.seconds + 60;
    for (let remaining = 59; remaining >= 0; remaining--) {
      const answer = await get(key);
      expect([answer.status, limitsOf(answer)]).toEqual([200, { limit: 60, remaining, reset }]);
    }
    const refused = await get(key);
    expect(refused.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(limitsOf(refused)).toEqual({ limit: 60, remaining: 0, reset });
  });

  test.each(Object.entries(plans))(
    'named %s has the limits defined for it',
    async (plan, { perMinute, perDay }) => {
      const { key } = await app.tenant(plan as keyof typeof plans);
      const answer = await get(key);
      expect(answer.header('RateLimit-Policy')).toBe(
        `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
      );
      expect(answer.header('RateLimit')).toBe(
        `"minute";r=${perMinute - 1};t=60, "day";r=${perDay - 1};t=86400`,
      );
    },
  );

  test('named enterprise has the limits of its account, per minute and per day', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 3 });
    const end = app.clock.seconds + day;
    expect(statuses(await burst(key, 3))).toEqual([200, 200, 429]);
    app.clock.advance(60);
    const [third, refused] = await burst(key, 2);
    expect(third?.status).toBe(200);
    expect(refused?.error).toMatchObject({ status: 429, code: 'daily_quota_exceeded' });
    expect(limitsOf(refused)).toEqual({ limit: 3, remaining: 0, reset: end });
    expect(refused?.number('Retry-After')).toBe(end - app.clock.seconds);
  });

  test('admits exactly its quota when requests are concurrent', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 20, perDay: 1_000 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => get(key)));
    const admitted = answers.filter(({ status }) => status === 200);
    const left = admitted.map((answer) => answer.number('X-RateLimit-Remaining'));
    expect(left.sort((a, b) => a - b)).toEqual([...Array(20).keys()]);
  });
});

describe('a clock change while the service is running', () => {
  test('immediately affects the expiry of keys and the removal of deprecated operations', async () => {
    await using dated = await startTestApp({ GET_PET_SUNSET: '2027-01-15T12:00:00Z' });
    const { account } = await dated.tenant('free');
    const { key } = await dated.app.admin.keys.create(account.id, 'short', 3_600_000);
    const status = async (target: string) => (await dated.call('GET', target, { key })).status;
    expect([await status('/pets'), await status('/pets/1')]).toEqual([200, 404]);
    dated.clock.step(3_600);
    expect(await status('/pets')).toBe(401);
    dated.clock.step(-3_600);
    expect(await status('/pets')).toBe(200);
    dated.clock.step(7_200);
    expect((await dated.call('GET', '/pets/1')).status).toBe(410);
  });
});
