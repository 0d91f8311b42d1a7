import { type BanRules, daySeconds, minuteSeconds, type Usage, type Window } from '../domain/limit.ts';
import type { SandboxStore } from '../storage/sqlite/sandbox.ts';
import type { Caller } from '../storage/storage.ts';
import type { SandboxClock } from './clock.ts';

/** Sets counts and bans for a fault. They are real, so later responses follow from them by the service's rules. */
export class SandboxLimits {
  readonly #store: SandboxStore;
  readonly #clock: SandboxClock;
  readonly #rules: BanRules;

  constructor(store: SandboxStore, clock: SandboxClock, rules: BanRules) {
    this.#store = store;
    this.#clock = clock;
    this.#rules = rules;
  }

  /** Leaves this many requests of the minute after the current one, at most as many as the plan allows. */
  setRemaining({ accountId, quota }: Caller, remaining: number): void {
    const { minute, day } = this.#usage(accountId);
    const before = (limit: number) => Math.max(0, limit - remaining - 1);
    this.#store.setUsage(accountId, {
      minute: { ...minute, count: before(quota.perMinute) },
      day: { ...day, count: Math.min(day.count, before(quota.perDay)) },
    });
  }

  /** Exhausts the window, to end in `seconds` (default: unchanged). An exhausted window is unchanged. */
  useUp({ accountId, quota }: Caller, window: keyof Usage, seconds: number | undefined): void {
    const usage = this.#usage(accountId);
    const [length, count] =
      window === 'minute' ? [minuteSeconds, quota.perMinute] : [daySeconds, quota.perDay];
    if (usage[window].count >= count) return;
    const openedAt = seconds === undefined ? usage[window].openedAt : this.#now + seconds - length;
    this.#store.setUsage(accountId, { ...usage, [window]: { openedAt, count } });
  }

  ban({ keyId }: Caller, seconds = this.#rules.firstBanSeconds): void {
    const { firstBanSeconds } = this.#rules;
    // A ban is limited to the duration of its level.
    const level = Math.max(0, Math.ceil(Math.log2(seconds / firstBanSeconds)));
    this.#store.ban(keyId, this.#now + seconds, level);
  }

  get #now(): number {
    return Math.floor(this.#clock.steady() / 1_000);
  }

  #usage(accountId: number): Usage {
    const { minute, day } = this.#store.usage(accountId);
    return { minute: this.#rolled(minute, minuteSeconds), day: this.#rolled(day, daySeconds) };
  }

  #rolled(window: Window, lengthSeconds: number): Window {
    return this.#now < window.openedAt + lengthSeconds ? window : { openedAt: this.#now, count: 0 };
  }
}
