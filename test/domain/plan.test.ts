import { describe, expect, test } from 'bun:test';
import { largestQuota, planNames, plans, quotaOf } from '../../src/domain/plan.ts';

const needsBoth =
  'Plan "enterprise" requires a limit per minute and a limit per day, each a whole number of at least 1.';

describe('a plan', () => {
  test('has the limits of the specification, section 8', () => {
    expect(plans).toEqual({
      free: { perMinute: 60, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 10_000 },
      business: { perMinute: 1_000, perDay: 100_000 },
    });
    expect(planNames).toEqual(['free', 'pro', 'business', 'enterprise']);
    expect(quotaOf('pro')).toEqual({ plan: 'pro', quota: plans.pro });
  });

  test.each([{ perMinute: 1 }, { perDay: 1 }])('free takes no limits: %j', (custom) => {
    const message = 'The limits of plan "free" are fixed. Only plan "enterprise" has custom limits.';
    expect(() => quotaOf('free', custom)).toThrow(message);
  });

  test.each([
    [1, 1],
    [7, 100],
    [largestQuota, largestQuota],
  ])('enterprise takes %d a minute and %d a day', (perMinute, perDay) => {
    expect(quotaOf('enterprise', { perMinute, perDay })).toEqual({
      plan: 'enterprise',
      quota: { perMinute, perDay },
    });
  });

  test.each([undefined, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, largestQuota + 1])(
    'enterprise refuses a limit of %p, be it per minute or per day',
    (limit) => {
      const given = limit === undefined ? {} : { perMinute: limit };
      expect(() => quotaOf('enterprise', { perDay: 1, ...given })).toThrow(needsBoth);
      const other = limit === undefined ? {} : { perDay: limit };
      expect(() => quotaOf('enterprise', { perMinute: 1, ...other })).toThrow(needsBoth);
    },
  );

  test.each([
    [{ perMinute: 0, perDay: 5 }, 'perMinute'],
    [{ perMinute: 5, perDay: 0 }, 'perDay'],
    [{ perMinute: 5 }, 'perDay'],
    [{ perMinute: 6, perDay: 5 }, 'perMinute'],
  ])('enterprise names the limit that is wrong in %j: %s', (custom, field) => {
    expect(() => quotaOf('enterprise', custom)).toThrow(expect.objectContaining({ field }));
  });

  test('enterprise takes no more per minute than per day', () => {
    const message = 'The limit per minute (100) must not exceed the limit per day (10).';
    expect(() => quotaOf('enterprise', { perMinute: 100, perDay: 10 })).toThrow(message);
  });

  test('that does not exist is named, with those that do', () => {
    const message = 'Unknown plan "gold". Choose one of: free, pro, business, enterprise.';
    expect(() => quotaOf('gold')).toThrow(message);
  });

  test('allows at most a number of requests that every count reaches exactly', () => {
    expect(largestQuota).toBe(1_000_000_000_000);
  });
});
