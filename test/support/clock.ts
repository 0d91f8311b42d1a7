import type { Clock } from '../../src/domain/clock.ts';

/** A clock that stands still until a test moves it. It starts on a whole second. */
export class FakeClock implements Clock {
  readonly rules = true;
  #nowMs: number;

  constructor(start = '2027-01-15T10:00:00Z') {
    this.#nowMs = Date.parse(start);
  }

  now(): number {
    return this.#nowMs;
  }

  /** The current whole second, Unix seconds. */
  get seconds(): number {
    return Math.floor(this.#nowMs / 1_000);
  }

  /** Negative seconds step back. */
  advance(seconds: number): void {
    this.#nowMs += Math.round(seconds * 1_000);
  }

  set(instant: string | number): void {
    this.#nowMs = typeof instant === 'number' ? instant : Date.parse(instant);
  }
}
