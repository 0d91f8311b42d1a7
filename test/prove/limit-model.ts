/** The law of limits against a model that tells the same rules another way, under a clock that is only a number. */
import {
  type BanRules,
  blameless,
  type Conduct,
  daySeconds,
  judge,
  minuteSeconds,
  unused,
} from '../../src/domain/limit.ts';
import type { Quota } from '../../src/domain/plan.ts';
import { LimitModel } from '../domain/limit-model.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import type { Proof, ProofOptions } from './proof.ts';

const startMs = Date.parse('2027-01-15T10:00:00Z');
const keys = 2;

interface Case {
  readonly quota: Quota;
  readonly rules: BanRules;
  readonly steps: number;
}

// Quotas, bans and pauses are small beside each other, so that a few requests meet every rule.
function anyCase(chance: Chance): Case {
  return {
    quota: { perMinute: chance.int(1, 6), perDay: chance.int(1, 40) },
    rules: {
      strikes: chance.int(1, 5),
      withinSeconds: chance.int(1, 90),
      firstBanSeconds: chance.int(1, 20),
      longestBanSeconds: chance.int(1, 120),
      forgivenAfterSeconds: chance.int(1, 300),
    },
    steps: chance.int(30, 80),
  };
}

function pauseMs(chance: Chance, retryAfterSeconds: number): number {
  const kind = chance.int(0, 11);
  if (kind < 4) return chance.pick([0, 1, 999, 1_000, 1_001]);
  if (kind < 8) return chance.int(0, 3_000);
  if (kind < 10) return chance.int(0, 65) * 1_000;
  // Exactly as long as was said, or a millisecond less.
  if (kind === 10) return Math.max(0, retryAfterSeconds * 1_000 - chance.int(0, 1));
  return chance.pick([59_999, 60_000, 86_399_999, 86_400_000]);
}

/** Plays one sequence; `seen` counts the outcomes. */
function play(chance: Chance, seen: Record<string, number>): number {
  const { quota, rules, steps } = anyCase(chance);
  const model = new LimitModel(rules);
  const conducts: Conduct[] = Array<Conduct>(keys).fill(blameless);
  let usage = unused;
  let nowMs = startMs + chance.int(0, 999);
  let retryAfterSeconds = 0;
  for (let step = 0; step < steps; step++) {
    nowMs += pauseMs(chance, retryAfterSeconds);
    const key = chance.int(0, keys - 1);
    const judged = judge(usage, conducts[key] ?? blameless, quota, rules, nowMs);
    usage = judged.usage;
    conducts[key] = judged.conduct;
    const { verdict } = judged;
    const expected = model.request(key, quota, nowMs);
    for (const part of ['refusal', 'limit', 'remaining', 'resetAt', 'retryAfterSeconds'] as const) {
      if (verdict[part] !== expected[part]) same(`${part} of step ${step}`, verdict[part], expected[part]);
    }
    for (const [window, seconds, limit] of [
      [verdict.minute, minuteSeconds, quota.perMinute],
      [verdict.day, daySeconds, quota.perDay],
    ] as const) {
      const state = model.window(seconds, limit, nowMs);
      if (window.remaining !== state.remaining)
        same(`remaining of ${seconds} s, step ${step}`, window.remaining, state.remaining);
      if (window.resetAt !== state.resetAt)
        same(`reset of ${seconds} s, step ${step}`, window.resetAt, state.resetAt);
    }
    retryAfterSeconds = verdict.retryAfterSeconds;
    const outcome = verdict.refusal ?? 'admitted';
    seen[outcome] = (seen[outcome] ?? 0) + 1;
  }
  return steps;
}

/** `rounds` is the number of decisions. */
export async function limitModel({ rounds, seed, progress }: ProofOptions) {
  const failures = new Failures(seed);
  const seen: Record<string, number> = {};
  let decisions = 0;
  for (let index = 0; decisions < rounds; index++) {
    if (index % 1_000 === 0) progress(`${decisions} of ${rounds} decisions`);
    try {
      decisions += play(new Chance(seed, index), seen);
    } catch (error) {
      failures.add(index, (error as Error).message);
    }
  }
  failures.end();
  // Cases that never met a rule would prove nothing about it.
  for (const outcome of ['admitted', 'rate_limit_exceeded', 'daily_quota_exceeded', 'api_key_banned']) {
    if ((seen[outcome] ?? 0) < decisions / 100) throw new Error(`hardly any request was ${outcome}`);
  }
  return { decisions, ...seen };
}

export const limitLaw: Proof = {
  name: 'limit-model',
  promise: 'the law of limits decides every request as a model does that counts nothing and reads its log',
  rounds: 10_000_000,
  run: limitModel,
};
