/**
 * Checks rate limiting against an independent model, with a simulated clock. The clock may jump at any point during a
 * window, a strike episode or a ban. The model is not affected, because it uses monotonic time.
 */

import type { Quota } from '../../src/domain/plan.ts';
import {
  type BanRules,
  daySeconds,
  decide,
  type KeyPenalty,
  minuteSeconds,
  noPenalty,
  noUsage,
  toUnixTimes,
} from '../../src/limits/limit.ts';
import { LimitModel } from '../domain/limit-model.ts';
import { FakeMachine } from '../support/clock.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import type { StressOptions, StressTest } from './stress-test.ts';

const keys = 2;

interface Case {
  readonly quota: Quota;
  readonly rules: BanRules;
  readonly steps: number;
}

// Quotas are low and bans are short, so that a few requests trigger every rule.
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
  // Waits exactly as long as Retry-After requires, or one millisecond less.
  if (kind === 10) return Math.max(0, retryAfterSeconds * 1_000 - chance.int(0, 1));
  return chance.pick([59_999, 60_000, 86_399_999, 86_400_000]);
}

/** A clock jump in whole seconds, so that reset times are exact. */
function stepMs(chance: Chance): number {
  if (!chance.often(0.2)) return 0;
  return chance.pick([-3_600_000, -1_000, 1_000, 3_600_000, 1_000 * chance.int(-100_000, 100_000)]);
}

/** Runs one sequence of requests. `seen` counts the outcomes. */
function play(chance: Chance, seen: Record<string, number>): number {
  const { quota, rules, steps } = anyCase(chance);
  const model = new LimitModel(rules);
  const penalties: KeyPenalty[] = Array<KeyPenalty>(keys).fill(noPenalty);
  let usage = noUsage;
  const machine = new FakeMachine();
  const { clock } = machine;
  machine.pass(chance.int(0, 999));
  let nowMs = clock.now();
  let retryAfterSeconds = 0;
  for (let step = 0; step < steps; step++) {
    const pause = pauseMs(chance, retryAfterSeconds);
    nowMs += pause;
    machine.pass(pause);
    const stepped = stepMs(chance);
    machine.step(stepped);
    same(`steady time at ${step}`, clock.steady(), nowMs);
    const key = chance.int(0, keys - 1);
    const decided = decide(usage, penalties[key] ?? noPenalty, quota, rules, nowMs);
    usage = decided.usage;
    penalties[key] = decided.penalty;
    const verdict = toUnixTimes(decided.verdict, clock.aheadSeconds);
    const aheadSeconds = (clock.now() - nowMs) / 1_000;
    const { resetAt, ...expected } = model.request(key, quota, nowMs);
    for (const part of ['errorCode', 'limit', 'remaining', 'retryAfterSeconds'] as const) {
      if (verdict[part] !== expected[part]) same(`${part} of ${step}`, verdict[part], expected[part]);
    }
    checkReset(`${step}`, verdict, resetAt, aheadSeconds);
    if (verdict.resetAt * 1_000 <= clock.now()) throw new Error(`the Reset of ${step} is in the past`);
    for (const [window, seconds, limit] of [
      [verdict.minute, minuteSeconds, quota.perMinute],
      [verdict.day, daySeconds, quota.perDay],
    ] as const) {
      const state = model.window(seconds, limit, nowMs);
      const expected = { ...state, secondsLeft: Math.ceil(state.resetAt - nowMs / 1_000) };
      for (const part of ['limit', 'remaining', 'secondsLeft'] as const) {
        if (window[part] !== expected[part])
          same(`${part} of ${seconds} s, ${step}`, window[part], expected[part]);
      }
      checkReset(`${seconds} s, ${step}`, window, state.resetAt, aheadSeconds);
    }
    if (stepped !== 0) seen['clock changes'] = (seen['clock changes'] ?? 0) + 1;
    retryAfterSeconds = verdict.retryAfterSeconds;
    const outcome = verdict.errorCode ?? 'admitted';
    seen[outcome] = (seen[outcome] ?? 0) + 1;
  }
  return steps;
}

/** Throws unless the reset time equals the model's. */
function checkReset(
  of: string,
  { resetAt }: { resetAt: number },
  steadyResetAt: number,
  aheadSeconds: number,
) {
  const expected = steadyResetAt + aheadSeconds;
  if (resetAt !== expected) same(`reset of ${of}`, resetAt, expected);
}

/** `rounds` is the number of decisions. */
export async function limitModel({ rounds, seed, progress }: StressOptions) {
  const failures = new Failures(seed);
  const seen: Record<string, number> = {};
  let decisions = 0;
  // Stops at the first failure, because an error in the rules makes every sequence fail.
  for (let index = 0; decisions < rounds && failures.count === 0; index++) {
    if (index % 1_000 === 0) progress(`${decisions} of ${rounds} decisions`);
    try {
      decisions += play(new Chance(seed, index), seen);
    } catch (error) {
      failures.add(index, (error as Error).message);
    }
  }
  failures.end();
  // Each rule must be triggered often enough to be tested.
  for (const outcome of ['admitted', 'rate_limit_exceeded', 'daily_quota_exceeded', 'api_key_banned']) {
    if ((seen[outcome] ?? 0) < decisions / 100) throw new Error(`too few requests were ${outcome}`);
  }
  return { decisions, ...seen };
}

export const limitLaw: StressTest = {
  name: 'limit-model',
  promise:
    'rate limiting decides every request like a model that evaluates the request log instead of counters, even when the clock is ' +
    'changed by seconds, hours and days',
  rounds: 10_000_000,
  run: limitModel,
};
