import { describe, expect, test } from 'bun:test';
import {
  blameless,
  type Conduct,
  daySeconds,
  defaultBanRules,
  judge,
  peek,
  refund,
  type Usage,
  unused,
} from '../../src/domain/limit.ts';

const startMs = Date.parse('2027-01-15T10:00:00Z');

describe('what a request does not change', () => {
  const quota = { perMinute: 2, perDay: 3 };
  const second = startMs / 1_000;
  const judged = (usage: Usage, conduct: Conduct, nowMs = startMs) =>
    judge(usage, conduct, quota, defaultBanRules, nowMs);

  test('comes back as the same object, so that stores need not write it', () => {
    const admitted = judged(unused, blameless);
    expect(admitted.conduct).toBe(blameless);
    const { usage } = judged(admitted.usage, blameless);
    const refused = judged(usage, blameless);
    expect(refused.usage).toBe(usage);
    // Within the grace of a second it is no strike.
    const again = judged(usage, refused.conduct, startMs + 999);
    expect([again.usage === usage, again.conduct === refused.conduct]).toEqual([true, true]);
    const bannedKey = { ...blameless, bannedUntil: second + 10 };
    const banned = judged(usage, bannedKey);
    expect([banned.usage === usage, banned.conduct === bannedKey]).toEqual([true, true]);
  });

  test.each([
    ['daily_quota_exceeded', 'minute', { minute: [60, 1], day: [60, 3] }],
    ['rate_limit_exceeded', 'day', { minute: [10, 2], day: [86_400, 2] }],
  ] as const)('is a window that ended: %s leaves the %s closed', (refusal, _ended, { minute, day }) => {
    const window = ([age, count]: readonly [number, number]) => ({ openedAt: second - age, count });
    const usage = { minute: window(minute), day: window(day) };
    expect(judged(usage, blameless)).toMatchObject({ verdict: { refusal }, usage });
  });

  test('is nothing at first: no window was ever opened, and nobody is to blame', () => {
    const never = { openedAt: 0, count: 0 };
    expect(unused).toEqual({ minute: never, day: never });
    expect(blameless).toEqual({ episodeFrom: 0, episodeUntil: 0, strikes: [], bannedUntil: 0, banLevel: 0 });
  });
});

describe('the edges of the law', () => {
  const quota = { perMinute: 2, perDay: 3 };
  const second = startMs / 1_000;
  const full = { minute: { openedAt: second, count: 2 }, day: { openedAt: second, count: 2 } };
  const judged = (usage: Usage, conduct: Conduct, nowMs = startMs, of = quota) =>
    judge(usage, conduct, of, defaultBanRules, nowMs);

  test('a request in the last millisecond of a Retry-After is a strike, one after it is none', () => {
    const { conduct } = judged(full, blameless);
    expect(judged(full, conduct, startMs + 59_999).conduct.strikes).toEqual([startMs + 59_999]);
    expect(judged(full, conduct, startMs + 60_000)).toMatchObject({
      verdict: { refusal: undefined },
      conduct: blameless,
    });
  });

  test('a day that is used up binds although the minute has one left and ends later', () => {
    const usage = {
      minute: { openedAt: second - 5, count: 1 },
      day: { openedAt: second - 86_399, count: 3 },
    };
    expect(judged(usage, blameless).verdict).toMatchObject({
      refusal: 'daily_quota_exceeded',
      limit: 3,
      retryAfterSeconds: 1,
    });
  });

  test('a clock that stepped back keeps a count of one', () => {
    const usage = { minute: { openedAt: second + 9, count: 1 }, day: { openedAt: second + 9, count: 1 } };
    const { verdict, usage: kept } = judged(usage, blameless, startMs, { perMinute: 1, perDay: 1 });
    expect(verdict.refusal).toBe('daily_quota_exceeded');
    expect(kept).toEqual({ minute: { openedAt: second, count: 1 }, day: { openedAt: second, count: 1 } });
  });

  test('what an address has left is whole again when its minute is over', () => {
    const window = { openedAt: second, count: 5 };
    expect(peek(window, 5, startMs + 59_999)).toMatchObject({
      remaining: 0,
      resetAt: second + 60,
      secondsLeft: 1,
    });
    expect(peek(window, 5, startMs + 60_000)).toMatchObject({ remaining: 5, resetAt: second + 120 });
  });

  test('what is given back twice is not given twice', () => {
    const { verdict, usage } = judged(unused, blameless);
    const once = refund(usage, verdict, quota, startMs).usage;
    expect(refund(once, verdict, quota, startMs).usage).toEqual(once);
  });

  test('what is given back after the minute shows the next one whole', () => {
    const { verdict, usage } = judged(unused, blameless);
    const later = refund(usage, verdict, quota, startMs + 60_000).verdict;
    expect(later.minute).toMatchObject({ remaining: 2, resetAt: second + 120 });
    expect(later.day).toMatchObject({ remaining: 3, resetAt: second + daySeconds });
  });

  test('the published rule of bans is the default', () => {
    expect(defaultBanRules).toEqual({
      strikes: 100,
      withinSeconds: 600,
      firstBanSeconds: 120,
      longestBanSeconds: daySeconds,
      forgivenAfterSeconds: daySeconds,
    });
  });
});
