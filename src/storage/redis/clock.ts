import type { Clock } from '../../domain/clock.ts';

/** Maximum relative drift between the clocks of two machines. */
const maxDrift = 0.000_2;

/**
 * Tracks Redis' steady time (scripts/common.lua), which is the time of Redis' clock without clock steps. Scripts
 * compare their time with the estimate of this class to detect steps.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** The last known epoch of Redis' clock; 0 before the first reply. */
  #epoch = 0;
  /**
   * Lower bound of the offset of Redis' steady time from this machine's steady time. The exact offset is unknown,
   * because replies arrive with a delay.
   */
  #aheadMs = 0;
  #repliedMs = 0;
  /** Offset of Redis' clock from this machine's steady time, as of the last reply. */
  #datesAheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Estimated time of Redis' clock, Unix ms. */
  now(): number {
    return this.#clock.steady() + this.#datesAheadMs;
  }

  /** The arguments of the scripts' `present`: the epoch, the expected time, and in tests the current time. */
  arguments(): number[] {
    const expected = [this.#epoch, this.#clock.steady() + this.#aheadMs];
    return this.#clock.rules === true ? [...expected, this.#clock.now()] : expected;
  }

  /** Applies the time in a reply, the difference between this time and steady time, and the epoch if it has changed. */
  hear(dateMs: number, dateAheadMs: number, epoch = this.#epoch): void {
    const hereMs = this.#clock.steady();
    this.#datesAheadMs = dateMs - hereMs;
    const aheadMs = dateMs - Math.ceil(dateAheadMs / 1_000) * 1_000 - hereMs;
    const slowestMs = this.#aheadMs - (hereMs - this.#repliedMs) * maxDrift;
    // The fastest reply is the most accurate.
    this.#aheadMs = epoch === this.#epoch ? Math.max(aheadMs, Math.floor(slowestMs)) : aheadMs;
    this.#epoch = epoch;
    this.#repliedMs = hereMs;
  }
}
