/** Protection of keys from bans, even if several programs share a key. Uses the real service, in virtual time. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';
import { freeClientOf } from '../support/free-client.ts';
import { rejectionOf } from '../support/rejection.ts';

const app = await startAppForFile();

describe('pacing', () => {
  test('avoids 429 with many concurrent calls, even if another program has used part of the limit', async () => {
    const { time, answers, store, othersSend } = await freeClientOf(app, { pace: true, maxWaitSeconds: 600 });
    await othersSend(25);
    await time.until(Promise.all(Array.from({ length: 200 }, () => store.inventory.get())));
    expect(answers.filter((answer) => answer.startsWith('200'))).toHaveLength(200);
    expect(answers.filter((answer) => answer.startsWith('429'))).toEqual([]);
    expect(time.now()).toBeLessThanOrEqual(4 * 60_000);
  });

  test('keeps a program from being banned when it is restarted repeatedly while the quota is exhausted', async () => {
    const { time, answers, client, othersSend } = await freeClientOf(app, { pace: true, maxWaitSeconds: 0 });
    await othersSend(60);
    for (let start = 0; start < 150; start++) {
      const error = await time.until(rejectionOf(client().inventory.get()));
      expect(error).toMatchObject({ code: 'rate_limit_exceeded', attempts: 0 });
      await time.until(time.sleep(250));
    }
    expect(new Set(answers.map((answer) => answer.split(' ')[0]))).toEqual(new Set(['asked']));
  });

  test("spreads the second half of a minute's requests over the rest of the minute", async () => {
    const { time, answers, store } = await freeClientOf(app, { pace: true });
    await time.until(Promise.all(Array.from({ length: 60 }, () => store.inventory.get())));
    const seconds = answers
      .filter((answer) => answer.startsWith('200'))
      .map((answer) => Number(answer.split(' at ')[1]));
    expect(seconds.filter((at) => at === 0)).toHaveLength(30);
    for (let from = 0; from < 50; from += 10) {
      expect(seconds.filter((at) => at > from && at <= from + 10).length).toBeWithin(4, 7);
    }
  });
});

describe('64 programs that share a key on the Free plan, each with a separate client,', () => {
  for (const [how, options, together] of [
    ['one call at a time', {}, 1],
    ['eight calls at a time', {}, 8],
    ['pacing', { pace: true }, 1],
  ] as const) {
    test(`are never banned with ${how}`, async () => {
      const { time, answers, client } = await freeClientOf(app, { maxWaitSeconds: Infinity, ...options });
      const codes = new Set<string>();
      const program = async () => {
        const store = client({ onRetry: ({ error }) => codes.add(error.code) });
        for (let round = 0; round < 12 / together; round++) {
          await Promise.all(Array.from({ length: together }, () => store.inventory.get()));
          // Longer than the grace period for requests in flight.
          await time.sleep(time.random() * 5_000);
        }
      };
      await time.until(Promise.all(Array.from({ length: 64 }, program)));
      expect(codes).not.toContain('api_key_banned');
      expect(answers.filter((answer) => answer.startsWith('200')).length).toBeGreaterThanOrEqual(64 * 8);
      // The programs reached the limit many times.
      expect(time.now()).toBeGreaterThan(8 * 60_000);
    });
  }
});
