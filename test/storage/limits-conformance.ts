/**
 * Runs the same sequences of requests, refunds, failures and lifted bans against a `LimitStore` and a reference
 * implementation of the rules, while time passes and the clock is changed. Every result must be the same.
 */
import fc from 'fast-check';
import type { Caller } from '../../src/domain/caller.ts';
import type { Quota } from '../../src/domain/plan.ts';
import { maxStaleMs } from '../../src/domain/shared-versions.ts';
import {
  currentVerdict,
  decide,
  decideFailure,
  type KeyPenalty,
  type LimitRules,
  noPenalty,
  noUsage,
  refund,
  toUnixTime,
  toUnixTimes,
  type Usage,
  type Verdict,
  type Window,
  windowState,
} from '../../src/limits/limit.ts';
import type { Ban, LimitStore } from '../../src/limits/limit-store.ts';
import type { FakeClock } from '../support/clock.ts';
import { callerWith } from './samples.ts';

type Command =
  | { readonly kind: 'take'; readonly key: number; readonly times: number }
  | { readonly kind: 'fail'; readonly address: number; readonly times: number }
  | { readonly kind: 'refund' | 'lift'; readonly key: number }
  | { readonly kind: 'look'; readonly address: number; readonly key: number }
  | { readonly kind: 'bans' }
  | { readonly kind: 'plan'; readonly account: number; readonly quota: Quota }
  | { readonly kind: 'advance' | 'step'; readonly ms: number }
  /** Waits for the Retry-After time of the last rejection, minus `lessMs`. */
  | { readonly kind: 'wait'; readonly lessMs: number };

/** The account of each key. Two keys share an account. */
const accountOfKey = [0, 0, 1] as const;

const quota = fc.constantFrom<Quota>(
  { perMinute: 3, perDay: 7 },
  { perMinute: 5, perDay: 5 },
  { perMinute: 60, perDay: 1_000 },
  { perMinute: 250, perDay: 300 },
);
const key = fc.nat(accountOfKey.length - 1);
const address = fc.nat(1);
const times = fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 8 }), fc.constant(70));
const ms = fc.oneof(
  fc.integer({ min: 1, max: 1_500 }),
  fc.integer({ min: 1_000, max: 70_000 }),
  fc.constantFrom(1_000, 59_999, 60_000, 600_000, 3_600_000, 86_400_000),
);
/** Whole seconds, because fractions cannot be distinguished from a late clock reading. */
const stepMs = fc
  .oneof(fc.constantFrom(-3_600, -1, 1, 3_600, 90_000), fc.integer({ min: -70, max: 70 }))
  .map((seconds) => seconds * 1_000);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('take' as const), key, times }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('step' as const), ms: stepMs }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), lessMs: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('refund' as const, 'lift' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), address, times: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const), address, key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('bans' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('plan' as const), account: fc.nat(1), quota }) },
);

/** Reference implementation of the rules, with its state in plain maps. */
class PlainLimits {
  readonly #usage = new Map<number, Usage>();
  readonly #penalty = new Map<number, KeyPenalty>();
  readonly #failures = new Map<string, Window>();
  readonly #rules: LimitRules;
  readonly #clock: FakeClock;

  constructor(rules: LimitRules, clock: FakeClock) {
    this.#rules = rules;
    this.#clock = clock;
  }

  take({ accountId, keyId, quota }: Caller): Verdict {
    const before = this.#usage.get(accountId) ?? noUsage;
    const penalty = this.#penalty.get(keyId) ?? noPenalty;
    const after = decide(before, penalty, quota, this.#rules.ban, this.#clock.steady());
    this.#usage.set(accountId, after.usage);
    this.#penalty.set(keyId, after.penalty);
    return toUnixTimes(after.verdict, this.#clock.aheadSeconds);
  }

  refund({ accountId, quota }: Caller, taken: Verdict): Verdict {
    const { aheadSeconds } = this.#clock;
    const before = this.#usage.get(accountId) ?? noUsage;
    const { usage, verdict } = refund(before, toUnixTimes(taken, -aheadSeconds), quota, this.#clock.steady());
    this.#usage.set(accountId, usage);
    return toUnixTimes(verdict, aheadSeconds);
  }

  fail(from: string) {
    const before = this.#failures.get(from) ?? noUsage.minute;
    const limit = this.#rules.failuresPerMinute;
    const { window, state, refused } = decideFailure(before, limit, this.#clock.steady());
    this.#failures.set(from, window);
    return { state: toUnixTime(state, this.#clock.aheadSeconds), refused };
  }

  peek(from: string) {
    const window = this.#failures.get(from) ?? noUsage.minute;
    return toUnixTime(
      windowState(window, this.#rules.failuresPerMinute, this.#clock.steady()),
      this.#clock.aheadSeconds,
    );
  }

  standing({ accountId, keyId, quota }: Caller): Verdict {
    const usage = this.#usage.get(accountId) ?? noUsage;
    const penalty = this.#penalty.get(keyId) ?? noPenalty;
    return toUnixTimes(currentVerdict(usage, penalty, quota, this.#clock.steady()), this.#clock.aheadSeconds);
  }

  bans(): Ban[] {
    const { aheadSeconds } = this.#clock;
    return [...this.#penalty]
      .filter(([, { bannedUntil }]) => this.#clock.steady() < bannedUntil * 1_000)
      .map(([keyId, { bannedUntil, banLevel }]) => {
        return { keyId, bannedUntil: bannedUntil + aheadSeconds, level: banLevel };
      })
      .sort((one, other) => one.keyId - other.keyId);
  }

  lift(keyId: number): boolean {
    const banned = this.bans().some((ban) => ban.keyId === keyId);
    if (banned) this.#penalty.delete(keyId);
    return banned;
  }
}

/** An initially empty limit store, its clock and its rules. */
interface Limiter {
  readonly limits: LimitStore;
  readonly clock: FakeClock;
  readonly rules: LimitRules;
}

/** Number of comparisons by kind of result, so that a test can check that every kind occurred. */
export type Tally = Record<string, number>;

/** A sequence of commands, with callers and addresses that no other sequence uses. */
class Sequence {
  readonly #limiter: Limiter;
  readonly #expected: PlainLimits;
  readonly #tally: Tally;
  readonly #number: number;
  readonly #quotas: Quota[];
  readonly #taken = new Map<number, Verdict>();
  #waitMs = 1_000;

  constructor(limiter: Limiter, tally: Tally, number: number, quotas: readonly Quota[]) {
    this.#limiter = limiter;
    this.#expected = new PlainLimits(limiter.rules, limiter.clock);
    this.#tally = tally;
    this.#number = number;
    this.#quotas = [...quotas];
  }

  async run(command: Command): Promise<void> {
    const { limits, clock } = this.#limiter;
    switch (command.kind) {
      case 'take':
        for (let time = 0; time < command.times; time++) await this.#take(command.key);
        return;
      case 'refund':
        return this.#refund(command.key);
      case 'fail':
        // For this long, an instance may repeat a refusal with the Reset from before a clock step.
        clock.advance(maxStaleMs / 1_000);
        for (let time = 0; time < command.times; time++) {
          const expected = this.#expected.fail(this.#address(command.address));
          const name = expected.refused ? 'failure refused' : 'failure';
          this.#compare(name, await limits.fail(this.#address(command.address)), expected);
        }
        return;
      case 'look': {
        const from = this.#address(command.address);
        this.#compare('peek', await limits.peek(from), this.#expected.peek(from));
        const caller = this.#caller(command.key);
        const expected = this.#expected.standing(caller);
        const name = `standing ${expected.errorCode ?? 'admitted'}`;
        return this.#compare(name, (await limits.standing(caller)).verdict, expected);
      }
      case 'bans': {
        const keyIds = accountOfKey.map((_, index) => this.#caller(index).keyId);
        const own = (await limits.bans()).filter(({ keyId }) => keyIds.includes(keyId));
        return this.#compare('bans', own, this.#expected.bans());
      }
      case 'lift': {
        const { keyId } = this.#caller(command.key);
        const expected = this.#expected.lift(keyId);
        return this.#compare(expected ? 'lifted' : 'not lifted', await limits.lift(keyId), expected);
      }
      case 'plan':
        this.#quotas[command.account] = command.quota;
        return;
      case 'advance':
        return clock.advance(command.ms / 1_000);
      case 'step':
        return clock.step(command.ms / 1_000);
      case 'wait':
        return clock.advance((this.#waitMs - command.lessMs) / 1_000);
    }
  }

  async #take(key: number): Promise<void> {
    const { limits } = this.#limiter;
    const caller = this.#caller(key);
    const { callers } = await limits.versions();
    const { verdict } = await limits.take(caller, callers);
    const expected = this.#expected.take(caller);
    this.#compare(expected.errorCode ?? 'admitted', verdict, expected);
    if (expected.errorCode === undefined) this.#taken.set(key, expected);
    else this.#waitMs = expected.retryAfterSeconds * 1_000;
  }

  async #refund(key: number): Promise<void> {
    const taken = this.#taken.get(key);
    if (taken === undefined) return;
    this.#taken.delete(key);
    const caller = this.#caller(key);
    this.#compare(
      'refund',
      await this.#limiter.limits.refund(caller, taken),
      this.#expected.refund(caller, taken),
    );
  }

  #caller(key: number): Caller {
    const account = accountOfKey[key] ?? 0;
    const quota = this.#quotas[account] ?? { perMinute: 1, perDay: 1 };
    const ownIds = 1 + this.#number * accountOfKey.length;
    return callerWith({ keyId: ownIds + key, accountId: ownIds + account, plan: 'enterprise', quota });
  }

  #address(address: number): string {
    return `${this.#number}:${address}`;
  }

  #compare(name: string, answer: unknown, expected: unknown): void {
    this.#tally[name] = (this.#tally[name] ?? 0) + 1;
    if (Bun.deepEquals(answer, expected, true)) return;
    const [got, wanted] = [answer, expected].map((value) => JSON.stringify(value));
    throw new Error(`${name} at ${this.#limiter.clock.now()}: the store answers ${got}, the rules ${wanted}`);
  }
}

interface SequenceOptions {
  readonly sequences: number;
  /** Maximum number of commands in a sequence. */
  readonly length: number;
  readonly seed: number;
  /** Number of servers whose clocks the store uses. Defaults to 1. */
  readonly serverClocks?: number;
}

/** Throws an error at the first difference, with the shortest sequence found that causes it. */
export async function compareWithLaw(limiter: Limiter, options: SequenceOptions): Promise<Tally> {
  const tally: Tally = {};
  const { clock } = limiter;
  const { serverClocks = 1 } = options;
  // A store that uses server clocks must first read each of them.
  for (let id = 1; id <= serverClocks; id++) {
    const caller = callerWith({ keyId: id, accountId: id, quota: { perMinute: 1, perDay: 1 } });
    await limiter.limits.take(caller, (await limiter.limits.versions()).callers);
  }
  let number = serverClocks;
  const sequence = fc.asyncProperty(
    fc.tuple(quota, quota),
    fc.array(command, { maxLength: options.length, size: 'max' }),
    async (quotas, commands) => {
      // Every sequence begins at a whole second, because the outcome depends on the position within a second.
      clock.advance(1 - (clock.steady() % 1_000) / 1_000);
      const run = new Sequence(limiter, tally, number++, quotas);
      for (const next of commands) await run.run(next);
    },
  );
  await fc.assert(sequence, { numRuns: options.sequences, seed: options.seed });
  return tally;
}
