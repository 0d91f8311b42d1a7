import { describe, expect, test } from 'bun:test';
import {
  daySeconds,
  decide,
  defaultBanRules,
  type KeyPenalty,
  noPenalty,
  noUsage,
  refund,
  type Usage,
} from '../../src/limits/limit.ts';

const startMs = Date.parse('2027-01-15T10:00:00Z');

describe('unchanged rate limit state', () => {
  const quota = { perMinute: 2, perDay: 3 };
  const second = startMs / 1_000;
  const decided = (usage: Usage, penalty: KeyPenalty, nowMs = startMs) =>
    decide(usage, penalty, quota, defaultBanRules, nowMs);

  test('is returned as the same object, so that the store does not need to write it', () => {
    const admitted = decided(noUsage, noPenalty);
    expect(admitted.penalty).toBe(noPenalty);
    const { usage } = decided(admitted.usage, noPenalty);
    const refused = decided(usage, noPenalty);
    expect(refused.usage).toBe(usage);
    // Within the grace period of one second, the request is not a strike.
    const again = decided(usage, refused.penalty, startMs + 999);
    expect([again.usage === usage, again.penalty === refused.penalty]).toEqual([true, true]);
    const bannedKey = { ...noPenalty, bannedUntil: second + 10 };
    const banned = decided(usage, bannedKey);
    expect([banned.usage === usage, banned.penalty === bannedKey]).toEqual([true, true]);
  });

  test.each([
    ['daily_quota_exceeded', 'minute', { minute: [60, 1], day: [60, 3] }],
    ['rate_limit_exceeded', 'day', { minute: [10, 2], day: [86_400, 2] }],
  ] as const)(
    'includes windows that have ended: a rejection with %s does not start a new %s',
    (errorCode, _ended, { minute, day }) => {
      const window = ([age, count]: readonly [number, number]) => ({ openedAt: second - age, count });
      const usage = { minute: window(minute), day: window(day) };
      expect(decided(usage, noPenalty)).toMatchObject({ verdict: { errorCode }, usage });
    },
  );
});

describe('edge cases of the rate limit rules', () => {
  const quota = { perMinute: 2, perDay: 3 };
  const second = startMs / 1_000;
  const decided = (usage: Usage, penalty: KeyPenalty, nowMs = startMs, of = quota) =>
    decide(usage, penalty, of, defaultBanRules, nowMs);

  test('an exhausted daily quota applies even if requests remain in the one-minute window, which ends later', () => {
    const usage = {
      minute: { openedAt: second - 5, count: 1 },
      day: { openedAt: second - 86_399, count: 3 },
    };
    expect(decided(usage, noPenalty).verdict).toMatchObject({
      errorCode: 'daily_quota_exceeded',
      limit: 3,
      retryAfterSeconds: 1,
    });
  });

  test('refunding a request a second time has no effect', () => {
    const { verdict, usage } = decided(noUsage, noPenalty);
    const once = refund(usage, verdict, quota, startMs).usage;
    expect(refund(once, verdict, quota, startMs).usage).toEqual(once);
  });

  test('a refund after the per-minute window has ended does not affect the next window', () => {
    const { verdict, usage } = decided(noUsage, noPenalty);
    const later = refund(usage, verdict, quota, startMs + 60_000).verdict;
    expect(later.minute).toMatchObject({ remaining: 2, resetAt: second + 120 });
    expect(later.day).toMatchObject({ remaining: 3, resetAt: second + daySeconds });
  });

  test('the documented ban rules are the default', () => {
    expect(defaultBanRules).toEqual({
      strikes: 100,
      withinSeconds: 600,
      firstBanSeconds: 120,
      longestBanSeconds: daySeconds,
      forgivenAfterSeconds: daySeconds,
    });
  });
});
