import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import { type Clock, hourMs } from '../../domain/clock.ts';
import { fingerprint } from '../../domain/key.ts';

const mostTokens = 100;

/** Tokens that were valid when they were last looked up, for reading what matters most while nothing can be looked up. */
export class RecentTokens {
  readonly #clock: Clock;
  /** By fingerprint: when it was valid, in ms of steady time. */
  readonly #validAt = new LRUCache<string, number>(atMost(mostTokens));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(token: string): void {
    this.#validAt.set(fingerprint(token), this.#clock.steady());
  }

  remove(token: string): void {
    this.#validAt.delete(fingerprint(token));
  }

  /** Whether it was valid within the last hour, and has not been found invalid since. */
  has(token: string): boolean {
    return (
      this.#clock.steady() < (this.#validAt.get(fingerprint(token)) ?? Number.NEGATIVE_INFINITY) + hourMs
    );
  }
}
