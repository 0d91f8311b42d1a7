import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Quota } from '../../src/domain/plan.ts';
import {
  type BanRules,
  daySeconds,
  decide,
  decideFailure,
  defaultBanRules,
  type KeyPenalty,
  minuteSeconds,
  noPenalty,
  noUsage,
  refund,
  type Verdict,
  windowState,
} from '../../src/limits/limit.ts';
import { limitModel } from '../stress/limit-model.ts';
import { always } from '../support/property.ts';

const startMs = Date.parse('2027-01-15T10:00:00Z');

/** The rules, with the state of one account and its keys, as in a store. */
class Account {
  usage = noUsage;
  readonly penalties = new Map<number, KeyPenalty>();
  readonly rules: BanRules;

  constructor(rules: BanRules) {
    this.rules = rules;
  }

  request(key: number, quota: Quota, nowMs: number): Verdict {
    const penalty = this.penalties.get(key) ?? noPenalty;
    const decision = decide(this.usage, penalty, quota, this.rules, nowMs);
    this.usage = decision.usage;
    this.penalties.set(key, decision.penalty);
    return decision.verdict;
  }
}

// Quotas are small, and bans and pauses are short, so that a few hundred requests are enough to trigger every rule.
const anyQuota = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 40 }),
});

const anyRules: fc.Arbitrary<BanRules> = fc.record({
  strikes: fc.integer({ min: 1, max: 5 }),
  withinSeconds: fc.integer({ min: 1, max: 90 }),
  firstBanSeconds: fc.integer({ min: 1, max: 20 }),
  longestBanSeconds: fc.integer({ min: 1, max: 120 }),
  forgivenAfterSeconds: fc.integer({ min: 1, max: 300 }),
});

const anyPauseMs = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 999, 1_000, 1_001), weight: 4 },
  { arbitrary: fc.integer({ min: 0, max: 3_000 }), weight: 4 },
  { arbitrary: fc.integer({ min: 0, max: 65 }).map((seconds) => seconds * 1_000), weight: 2 },
  { arbitrary: fc.constantFrom(59_999, 60_000, 86_399_999, 86_400_000), weight: 1 },
);

const anySteps = fc.array(fc.record({ pauseMs: anyPauseMs, key: fc.nat(1) }), {
  minLength: 60,
  maxLength: 120,
  size: 'max',
});

const anyCase = fc.record({ quota: anyQuota, rules: anyRules, steps: anySteps });

describe('the rate limit rules', () => {
  test('match a model that derives every decision from the request log, even when the clock changes', async () => {
    const { decisions } = await limitModel({ rounds: 50_000, seed: 20_301_205, progress: () => undefined });
    expect(decisions).toBeGreaterThanOrEqual(50_000);
  });

  test('never decrease a count or return a Reset in the past if the clock is set back between restarts', () => {
    const anyStep = fc.record({
      pauseMs: anyPauseMs,
      backMs: fc.constantFrom(0, 0, 0, 1, 1_000, 30_000, 90_000_000),
    });
    always(
      fc.record({
        quota: anyQuota,
        steps: fc.array(anyStep, { minLength: 60, maxLength: 120, size: 'max' }),
      }),
      ({ quota, steps }) => {
        const account = new Account(defaultBanRules);
        let nowMs = startMs;
        let before: Verdict | undefined;
        const past: Verdict[] = [];
        const lowered: Verdict[] = [];
        for (const { pauseMs, backMs } of steps) {
          nowMs += backMs > 0 ? -backMs : pauseMs;
          const verdict = account.request(0, quota, nowMs);
          const { minute, day } = verdict;
          if ([verdict, minute, day].some(({ resetAt }) => resetAt * 1_000 <= nowMs)) past.push(verdict);
          const isLowered =
            minute.remaining > (before?.minute.remaining ?? Infinity) ||
            day.remaining > (before?.day.remaining ?? Infinity);
          if (backMs > 0 && isLowered) lowered.push(verdict);
          before = verdict;
        }
        expect({ past, lowered }).toEqual({ past: [], lowered: [] });
      },
    );
  });

  test('allow a request to be refunded until its window ends', () => {
    always(
      anyCase,
      ({ quota, rules, steps }) => {
        const account = new Account(rules);
        let nowMs = startMs;
        for (const { pauseMs } of steps) {
          nowMs += pauseMs;
          const before = account.usage;
          const taken = account.request(0, quota, nowMs);
          if (taken.errorCode !== undefined) continue;
          const now = refund(account.usage, taken, quota, nowMs);
          expect(now.verdict.minute.remaining).toBe(taken.minute.remaining + 1);
          expect(now.verdict.day.remaining).toBe(taken.day.remaining + 1);
          const later = refund(account.usage, taken, quota, nowMs + daySeconds * 1_000);
          expect(later.verdict.minute.remaining).toBe(quota.perMinute);
          expect(before.day.count).toBeLessThanOrEqual(quota.perDay);
        }
      },
      100,
    );
  });
});

describe('the rules for failed authentications', () => {
  test('open a window with the first failure, reject attempts beyond the limit, and do not count rejections', () => {
    always(
      fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 60 })),
      ([limit, attempts]) => {
        let window = noUsage.minute;
        for (let attempt = 1; attempt <= attempts; attempt++) {
          const decided = decideFailure(window, limit, startMs + attempt);
          expect(decided.refused).toBe(attempt > limit);
          expect(decided.state).toMatchObject({
            limit,
            remaining: Math.max(0, limit - attempt),
            resetAt: startMs / 1_000 + minuteSeconds,
          });
          window = decided.window;
          expect(window.count).toBe(Math.min(attempt, limit));
        }
        expect(windowState(window, limit, startMs + minuteSeconds * 1_000).remaining).toBe(limit);
      },
    );
  });
});
