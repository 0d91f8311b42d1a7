import { type Clock, systemClock } from '../src/domain/clock.ts';

/** Exclusive upper bound of the clock. Expiry times computed from later times could have five-digit years. */
const lastMs = Date.parse('9999-01-01T00:00:00Z');

/** The system clock plus an offset that can only increase. Resetting the sandbox clears the offset. */
export class SandboxClock implements Clock {
  readonly rules = true;
  readonly #system = systemClock();
  #advancedMs = 0;

  now(): number {
    return this.#system.now() + this.#advancedMs;
  }

  steady(): number {
    return this.#system.steady() + this.#advancedMs;
  }

  storeTime(): number {
    return this.steady();
  }

  get aheadSeconds(): number {
    return this.#system.aheadSeconds;
  }

  get advancedSeconds(): number {
    return this.#advancedMs / 1_000;
  }

  /** Advances the clock. Returns false if `ms` is negative or the new time is after the year 9998. */
  advance(ms: number): boolean {
    if (!(ms >= 0) || this.now() + ms >= lastMs) return false;
    this.#advancedMs += ms;
    return true;
  }

  reset(): void {
    this.#advancedMs = 0;
  }
}
