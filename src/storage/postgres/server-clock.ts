import type { Clock } from '../../domain/clock.ts';
import type { Notify } from '../../outages/outage.ts';

/** Difference from the server's clock above which operators are warned. */
const maxDifferenceMs = 5_000;

/** Steps of the server's clock up to this length change the store's time. */
const maxUnnoticedStepMs = 60_000;

const outagePart = 'clock';

/**
 * The clock of the PostgreSQL server. All instances use it for leases, retries, expiry dates and the ages of stored
 * rows, so that their times are comparable. Between two readings, the time advances with this machine's monotonic time, so that a step of
 * this machine's clock has no effect. Until the first reading, the time is that of this machine.
 *
 * The store's time ignores steps of the server's clock. The process that detects a step adds it to the sum of all steps,
 * which is stored next to the data, so that all processes subtract the same sum.
 */
export class ServerClock implements Clock {
  readonly #local: Clock;
  readonly #notice: Notify;
  /** Offset of the server's clock from this machine's monotonic time, in ms. */
  #aheadMs: number | undefined;
  /** Offset of the store's time from this machine's monotonic time, in ms. */
  #storeAheadMs: number | undefined;
  /** The sum of all steps of the server's clock, as of the last reading. */
  #stepsMs = 0;
  /** The sum after a step that this process has detected, which it or another process is recording. */
  #detectedStepsMs = 0;
  #wasOff = false;

  constructor(local: Clock, notice: Notify) {
    this.#local = local;
    this.#notice = notice;
  }

  now(): number {
    return this.#aheadMs === undefined ? this.#local.now() : this.#local.steady() + this.#aheadMs;
  }

  steady(): number {
    return this.#local.steady();
  }

  storeTime(): number {
    return this.#storeAheadMs === undefined
      ? this.#local.storeTime()
      : this.#local.steady() + this.#storeAheadMs;
  }

  get aheadSeconds(): number {
    return this.#local.aheadSeconds;
  }

  get rules(): boolean {
    return this.#local.rules === true;
  }

  /** True if this machine's clock differs from the server's clock by more than five seconds. */
  get isOff(): boolean {
    return Math.abs(this.now() - this.#local.now()) > maxDifferenceMs;
  }

  /**
   * Applies a time (Unix ms) that the server read after `sentAt` (`steady`) and before the call. Changes the offset
   * only if it contradicts this reading, so that the round trip of a slow reading adds no error. `stepsMs` is the sum
   * of all clock steps, which the server returned together with its time. Returns the new sum if the server's clock was
   * stepped since the previous reading.
   */
  apply(serverMs: number, sentAt: number, stepsMs: number): number | undefined {
    if (this.rules) return undefined;
    const [lowest, highest] = [serverMs - this.#local.steady(), serverMs + 1 - sentAt];
    const midpoint = Math.round((lowest + highest) / 2);
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? midpoint, lowest), highest);
    this.#report();
    return this.#stepTo(this.#aheadMs - stepsMs, stepsMs);
  }

  #stepTo(storeAheadMs: number, stepsMs: number): number | undefined {
    const jumpedMs = storeAheadMs - (this.#storeAheadMs ?? storeAheadMs);
    const isKnown = [this.#stepsMs, this.#detectedStepsMs].some(
      (known) => Math.abs(stepsMs - known) < maxUnnoticedStepMs,
    );
    if (isKnown && Math.abs(jumpedMs) > maxUnnoticedStepMs) {
      this.#detectedStepsMs = stepsMs + jumpedMs;
      return this.#detectedStepsMs;
    }
    this.#storeAheadMs = storeAheadMs;
    this.#stepsMs = stepsMs;
    return undefined;
  }

  #report(): void {
    if (this.isOff === this.#wasOff) return;
    this.#wasOff = this.isOff;
    const seconds = Math.abs((this.#local.now() - this.now()) / 1_000).toFixed(1);
    const direction = this.#local.now() > this.now() ? 'ahead of' : 'behind';
    this.#notice(
      this.#wasOff
        ? `the clock of this machine is ${seconds} s ${direction} the PostgreSQL server's clock, which is used instead`
        : "the clock of this machine agrees with the PostgreSQL server's clock again",
      { part: outagePart, works: !this.#wasOff },
    );
  }
}
