import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.ts';

const windowMs = 60_000;
/** Addresses that are remembered, at most; the least recently seen are forgotten. */
const rememberedAddresses = 10_000;
/** Answers held back at once, at most; any more are sent at once. */
const mostHeld = 1_000;

/** Counts what an address gets without a key in windows of a minute, in this process's memory only. */
export class PublicBudget {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #windows = new LRUCache<string, { readonly endsAt: number; count: number }>({
    max: rememberedAddresses,
  });
  #held = 0;

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts a request. Returns the whole seconds, at least 1, until the address may ask again; 0 when it may now. */
  take(address: string): number {
    const now = this.#clock.steady();
    let window = this.#windows.get(address);
    if (window === undefined || window.endsAt <= now) {
      window = { endsAt: now + windowMs, count: 0 };
      this.#windows.set(address, window);
    }
    if (window.count >= this.#perMinute) return Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
    window.count++;
    return 0;
  }

  /**
   * Holds an answer back for so long, so that a client that asks on at once costs next to nothing. Resolves with
   * false at once when too many are held back already.
   */
  async holdBack(milliseconds: number): Promise<boolean> {
    if (this.#held >= mostHeld) return false;
    this.#held++;
    await Bun.sleep(milliseconds);
    this.#held--;
    return true;
  }
}
