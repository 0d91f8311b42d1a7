import { LRUCache } from 'lru-cache';
import { type Clock, hourMs } from '../../domain/clock.ts';
import { computeFingerprint } from '../../domain/key.ts';
import { maxEntries } from '../../domain/max-entries.ts';

const maxTokens = 100;

/** Tokens that were valid when last looked up. They still give access to metrics and warnings while lookups fail. */
export class RecentTokens {
  readonly #clock: Clock;
  /** Time of the last successful lookup, in ms on the monotonic clock, by fingerprint. */
  readonly #validAt = new LRUCache<string, number>(maxEntries(maxTokens));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(token: string): void {
    this.#validAt.set(computeFingerprint(token), this.#clock.steady());
  }

  remove(token: string): void {
    this.#validAt.delete(computeFingerprint(token));
  }

  /** Whether the token was valid within the last hour and has not been found invalid since. */
  has(token: string): boolean {
    return (
      this.#clock.steady() <
      (this.#validAt.get(computeFingerprint(token)) ?? Number.NEGATIVE_INFINITY) + hourMs
    );
  }
}
