import { describe, expect, test } from 'bun:test';
import { maxQuota, planNames, plans, resolveQuota } from '../../src/domain/plan.ts';

const needsBoth =
  'Plan "enterprise" requires a limit per minute and a limit per day, each a whole number of at least 1.';

describe('a plan', () => {
  test('has the limits defined in section 8 of the specification', () => {
    expect(plans).toEqual({
      free: { perMinute: 60, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 10_000 },
      business: { perMinute: 1_000, perDay: 100_000 },
    });
    expect(planNames).toEqual(['free', 'pro', 'business', 'enterprise']);
    expect(resolveQuota('pro')).toEqual({ plan: 'pro', quota: plans.pro });
  });

  test.each([
    [1, 1],
    [7, 100],
    [maxQuota, maxQuota],
  ])('named enterprise accepts %d requests per minute and %d per day', (perMinute, perDay) => {
    expect(resolveQuota('enterprise', { perMinute, perDay })).toEqual({
      plan: 'enterprise',
      quota: { perMinute, perDay },
    });
  });

  test.each([undefined, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, maxQuota + 1])(
    'named enterprise rejects a limit of %p, per minute or per day',
    (limit) => {
      const given = limit === undefined ? {} : { perMinute: limit };
      expect(() => resolveQuota('enterprise', { perDay: 1, ...given })).toThrow(needsBoth);
      const other = limit === undefined ? {} : { perDay: limit };
      expect(() => resolveQuota('enterprise', { perMinute: 1, ...other })).toThrow(needsBoth);
    },
  );

  test('is rejected if it is unknown, with an error that lists the valid plans', () => {
    const message = 'Unknown plan "gold". Choose one of: free, pro, business, enterprise.';
    expect(() => resolveQuota('gold')).toThrow(message);
  });

  test('never allows more requests than the counters can represent exactly', () => {
    expect(maxQuota).toBe(1_000_000_000_000);
  });
});
