import type { Limits, LimitWindow } from './limits.js';

/** A window as the latest answers tell it. */
interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** When it ends at the latest, by this client's clock, in ms: the service rounds the seconds up. */
  readonly resetAt: number;
}

/** What the client knows of its account's limits, from the headers of answers. Times are the clock's, in ms. */
export class Quota {
  #minute: Window | undefined;
  #day: Window | undefined;
  /** When the latest answer came, and how long it took. */
  #heardAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;

  /** Takes over what an answer says. If none of them says anything, there are no limits. */
  hear(limits: Limits | undefined, sentAt: number, now: number): void {
    if (limits === undefined && (this.#minute?.limit ?? Infinity) < Infinity) return;
    // Answers overtake each other: of two that were under way together, the one with less left is the later one.
    const isLater = sentAt >= this.#heardAt;
    const merged = (old: Window | undefined, told: LimitWindow | undefined): Window => {
      const { limit = Infinity, remaining = Infinity, resetSeconds = 60 } = told ?? {};
      const resetAt = now + resetSeconds * 1_000;
      if (old === undefined || isLater || old.resetAt <= now) return { limit, remaining, resetAt };
      return {
        limit,
        remaining: Math.min(old.remaining, remaining),
        resetAt: Math.min(old.resetAt, resetAt),
      };
    };
    this.#minute = merged(this.#minute, limits?.minute);
    this.#day = merged(this.#day, limits?.day);
    this.#heardAt = now;
    this.#tookMs = now - sentAt;
  }

  /** Whether the present window of a minute is known. */
  isKnown(now: number): boolean {
    return this.#minute !== undefined && now < this.#minute.resetAt;
  }

  /** Whether the request for the latest answer was sent at most so long ago, or the answer came at most `leastMs` ago. */
  isFresh(now: number, withinMs: number, leastMs: number): boolean {
    return this.isKnown(now) && now - this.#heardAt < Math.max(withinMs - this.#tookMs, leastMs);
  }

  /** Requests left in both windows, as far as is known. */
  left(now: number): number {
    const open = [this.#minute, this.#day].filter((window) => window !== undefined && now < window.resetAt);
    return Math.min(...open.map((window) => window?.remaining ?? Infinity));
  }

  /** When there are requests again, and which window has none; undefined if there are some. */
  exhausted(now: number): { readonly until: number; readonly isDay: boolean } | undefined {
    const isUsedUp = (window: Window | undefined) => window?.remaining === 0 && now < window.resetAt;
    if (isUsedUp(this.#day)) return { until: this.#day?.resetAt ?? now, isDay: true };
    return isUsedUp(this.#minute) ? { until: this.#minute?.resetAt ?? now, isDay: false } : undefined;
  }

  /** When the next request is due after one at `lastAt`, so that the second half of a minute's requests lasts until its end. */
  paced(lastAt: number, inFlight: number): number {
    const { limit = Infinity, remaining = Infinity, resetAt = 0 } = this.#minute ?? {};
    const left = remaining - inFlight;
    if (left > limit / 2 || resetAt <= lastAt) return lastAt;
    return lastAt + (resetAt - lastAt) / Math.max(1, left);
  }
}
