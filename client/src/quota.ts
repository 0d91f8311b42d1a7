import type { Limits, LimitWindow } from './limits.js';

/** A window according to the latest responses. */
interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** Latest end by this client's clock, in ms. The service rounds seconds up. */
  readonly resetAt: number;
}

/** The account's known quota, from the headers of responses. Times are the clock's, in ms. */
export class Quota {
  #minute: Window | undefined;
  #day: Window | undefined;
  /** Arrival and duration of the latest response. */
  #updatedAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;

  /** Reads the headers of a response. Without such headers there are no limits. */
  update(limits: Limits | undefined, sentAt: number, now: number): void {
    if (limits === undefined && (this.#minute?.limit ?? Infinity) < Infinity) return;
    // Responses can arrive out of order: of two concurrent ones, the one with less remaining is newer.
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
   * Whether the request of the latest response was sent within `withinMs`, or the response arrived within
   * `minMs`.
   */
  isFresh(now: number, withinMs: number, minMs: number): boolean {
    return this.isKnown(now) && now - this.#updatedAt < Math.max(withinMs - this.#tookMs, minMs);
  }

  /** Known remaining requests in both windows. */
  left(now: number): number {
    const open = [this.#minute, this.#day].filter((window) => window !== undefined && now < window.resetAt);
    return Math.min(...open.map((window) => window?.remaining ?? Infinity));
  }

  /** The end of an exhausted window; undefined if requests remain. */
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
