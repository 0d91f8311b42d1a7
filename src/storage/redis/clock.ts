import type { Clock } from '../../domain/clock.ts';

/** Clocks of two machines drift apart by less than this part of the time. */
const mostDrift = 0.000_2;

/**
 * What this instance knows of the time that Redis counts in (scripts/common.lua): Redis' date, less what it was stepped by.
 * Scripts are told what this instance expects of it by its own steady clock, so that they know a step when they meet one.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** Names the count of time that was heard of; 0 before any was. */
  #epoch = 0;
  /** How far Redis' steady time is ahead of this machine's, at least: its answers take a while to arrive. */
  #aheadMs = 0;
  #heardMs = 0;
  /** How far the dates in its answers are ahead of this machine's steady time. */
  #datesAheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Redis' date as far as it is known here, Unix ms. */
  now(): number {
    return this.#clock.steady() + this.#datesAheadMs;
  }

  /** What the scripts' `present` takes: the epoch, what it should say, and the date, if a test's clock rules. */
  arguments(): number[] {
    const expected = [this.#epoch, this.#clock.steady() + this.#aheadMs];
    return this.#clock.rules === true ? [...expected, this.#clock.now()] : expected;
  }

  /** Takes over what an answer says: its date, by how many ms dates are ahead, and the epoch unless it is the same. */
  hear(dateMs: number, dateAheadMs: number, epoch = this.#epoch): void {
    const hereMs = this.#clock.steady();
    this.#datesAheadMs = dateMs - hereMs;
    const aheadMs = dateMs - Math.ceil(dateAheadMs / 1_000) * 1_000 - hereMs;
    const slowestMs = this.#aheadMs - (hereMs - this.#heardMs) * mostDrift;
    // The answer that was the fastest tells the most; a slow one, or one to a request that waited, tells less.
    this.#aheadMs = epoch === this.#epoch ? Math.max(aheadMs, Math.floor(slowestMs)) : aheadMs;
    this.#epoch = epoch;
    this.#heardMs = hereMs;
  }
}
