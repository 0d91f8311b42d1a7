import type { Clock } from '../../domain/clock.ts';

/** Greatest drift between the clocks of two machines. */
const mostDrift = 0.000_2;

/** Tracks Redis' steady time (scripts/common.lua): its date without steps, which scripts detect by the time expected here. */
export class RedisClock {
  readonly #clock: Clock;
  /** The last known epoch of Redis' clock; 0 before the first reply. */
  #epoch = 0;
  /** How far Redis' steady time is ahead of this machine's, at least: replies arrive with a delay. */
  #aheadMs = 0;
  #heardMs = 0;
  /** How far the dates in replies are ahead of this machine's steady time. */
  #datesAheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Estimate of Redis' date, Unix ms. */
  now(): number {
    return this.#clock.steady() + this.#datesAheadMs;
  }

  /** The arguments of the scripts' `present`: the epoch, the expected time, and the date if a test's clock rules. */
  arguments(): number[] {
    const expected = [this.#epoch, this.#clock.steady() + this.#aheadMs];
    return this.#clock.rules === true ? [...expected, this.#clock.now()] : expected;
  }

  /** Adopts the date of a reply, how far dates are ahead of steady time, and the epoch if it changed. */
  hear(dateMs: number, dateAheadMs: number, epoch = this.#epoch): void {
    const hereMs = this.#clock.steady();
    this.#datesAheadMs = dateMs - hereMs;
    const aheadMs = dateMs - Math.ceil(dateAheadMs / 1_000) * 1_000 - hereMs;
    const slowestMs = this.#aheadMs - (hereMs - this.#heardMs) * mostDrift;
    // The fastest reply is the most accurate.
    this.#aheadMs = epoch === this.#epoch ? Math.max(aheadMs, Math.floor(slowestMs)) : aheadMs;
    this.#epoch = epoch;
    this.#heardMs = hereMs;
  }
}
