import type { Limits, LimitWindow } from './limits.js';

/** State of a rate-limit window according to the latest responses. */
interface Window {
  readonly limit: number;
  readonly remaining: number;
  /**
   * The latest time at which the window can reset, in ms on the client's clock. The service rounds seconds up.
   */
  readonly resetAt: number;
}

/** The account's quota according to response headers. Times are in ms on the client's clock. */
export class Quota {
  #minute: Window | undefined;
  #day: Window | undefined;
  /** Arrival time of the latest response. */
  #updatedAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;

  /** Updates the quota from a response's headers. A service that sends no rate-limit headers has no limits. */
  update(limits: Limits | undefined, sentAt: number, now: number): void {
    if (limits === undefined && (this.#minute?.limit ?? Infinity) < Infinity) return;
    // Responses can arrive out of order. Of two concurrent responses, the one with the lower remaining quota
    // is newer.
    const isLater = sentAt >= this.#updatedAt;
    const merged = (old: Window | undefined, reported: LimitWindow | undefined): Window => {
      const { limit = Infinity, remaining = Infinity, resetSeconds = 60 } = reported ?? {};
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
    this.#updatedAt = now;
    this.#tookMs = now - sentAt;
  }

  /** Whether the current minute window is known. */
  isKnown(now: number): boolean {
    return this.#minute !== undefined && now < this.#minute.resetAt;
  }

  /**
   * Whether the latest response arrived less than `minMs` ago, or its request was sent less than `withinMs` ago.
   */
  isFresh(now: number, withinMs: number, minMs: number): boolean {
    return this.isKnown(now) && now - this.#updatedAt < Math.max(withinMs - this.#tookMs, minMs);
  }

  /** Number of requests known to remain, which is the lower value of the two windows. */
  left(now: number): number {
    const open = [this.#minute, this.#day].filter((window) => window !== undefined && now < window.resetAt);
    return Math.min(...open.map((window) => window?.remaining ?? Infinity));
  }

  /** Returns when the exhausted window resets; undefined if requests remain. */
  exhausted(now: number): { readonly until: number; readonly isDay: boolean } | undefined {
    const isUsedUp = (window: Window | undefined) => window?.remaining === 0 && now < window.resetAt;
    if (isUsedUp(this.#day)) return { until: this.#day?.resetAt ?? now, isDay: true };
    return isUsedUp(this.#minute) ? { until: this.#minute?.resetAt ?? now, isDay: false } : undefined;
  }

  /**
   * Returns when to send the next request after a request at `lastAt`. Spreads the second half of a minute's
   * requests over the rest of the minute.
   */
  paced(lastAt: number, inFlight: number): number {
    const { limit = Infinity, remaining = Infinity, resetAt = 0 } = this.#minute ?? {};
    const left = remaining - inFlight;
    if (left > limit / 2 || resetAt <= lastAt) return lastAt;
    return lastAt + (resetAt - lastAt) / Math.max(1, left);
  }
}
