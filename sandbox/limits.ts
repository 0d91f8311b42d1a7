import type { Caller } from '../src/domain/caller.ts';
import { type BanRules, daySeconds, minuteSeconds, type Usage, type Window } from '../src/limits/limit.ts';
import type { SandboxClock } from './clock.ts';
import type { SandboxStore } from './store.ts';

/** Changes the real counts and bans for a fault, so that the service enforces them. */
export class SandboxLimits {
  readonly #store: SandboxStore;
  readonly #clock: SandboxClock;
  readonly #rules: BanRules;

  constructor(store: SandboxStore, clock: SandboxClock, rules: BanRules) {
    this.#store = store;
    this.#clock = clock;
    this.#rules = rules;
  }

  /** Sets how many more requests are allowed in this minute after the current one, up to the plan's limit. */
  setRemaining({ accountId, quota }: Caller, remaining: number): void {
    const { minute, day } = this.#usage(accountId);
    const before = (limit: number) => Math.max(0, limit - remaining - 1);
    this.#store.setUsage(accountId, {
      minute: { ...minute, count: before(quota.perMinute) },
      day: { ...day, count: Math.min(day.count, before(quota.perDay)) },
    });
  }

  /**
   * Exhausts the window. With `seconds`, also sets the time until the window ends. Does nothing if the window is
   * already exhausted.
   */
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
    // The level limits the duration of a ban, so a longer ban requires a higher level.
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
