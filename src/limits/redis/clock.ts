import type { Clock } from '../../domain/clock.ts';

/** Maximum relative drift between the clocks of two machines. */
const maxDrift = 0.000_2;

/**
 * Tracks Redis' monotonic time (scripts/common.lua), which is the time of Redis' clock, corrected for clock steps. To
 * detect clock steps, scripts compare Redis' time with this class's estimate.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** The last known epoch of Redis' clock; 0 before the first reply. */
  #epoch = 0;
  /**
   * Lower bound on the offset of Redis' monotonic time from this machine's monotonic time. The exact offset is unknown,
   * because replies arrive with a delay.
   */
  #aheadMs = 0;
  #repliedMs = 0;
  /** Offset of Redis' clock from this machine's monotonic time, as of the last reply; initially that of PostgreSQL. */
  #datesAheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#datesAheadMs = clock.now() - clock.steady();
  }

  /** This machine's monotonic time, in ms. */
  steady(): number {
    return this.#clock.steady();
  }

  /** Estimated time of Redis' clock, Unix ms. */
  now(): number {
    return this.#clock.steady() + this.#datesAheadMs;
  }

  /**
   * Arguments for the `present` function of the scripts: the epoch, the expected time, and in tests the current time.
   */
  arguments(): number[] {
    const expected = [this.#epoch, this.#clock.steady() + this.#aheadMs];
    return this.#clock.rules === true ? [...expected, this.#clock.now()] : expected;
  }

  /** Applies the values in a reply: Redis' time, its offset from monotonic time, and the epoch if it has changed. */
  applyReply(dateMs: number, dateAheadMs: number, epoch = this.#epoch): void {
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
