import { type Clock, systemClock } from '../../src/domain/clock.ts';

/** A clock that advances only when a test advances it. It starts at a whole second. */
export class FakeClock implements Clock {
  readonly rules = true;
  #nowMs: number;
  #steadyMs: number;

  constructor(start = '2027-01-15T10:00:00Z') {
    this.#nowMs = Date.parse(start);
    this.#steadyMs = this.#nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  steady(): number {
    return this.#steadyMs;
  }

  storeTime(): number {
    return this.#steadyMs;
  }

  get aheadSeconds(): number {
    return Math.ceil((this.#nowMs - this.#steadyMs) / 1_000);
  }

  /** The current time in whole Unix seconds. */
  get seconds(): number {
    return Math.floor(this.#nowMs / 1_000);
  }

  advance(seconds: number): void {
    const ms = Math.round(seconds * 1_000);
    this.#nowMs += ms;
    this.#steadyMs += ms;
  }

  /** Advances the clock to this time. */
  set(instant: string | number): void {
    const nowMs = typeof instant === 'number' ? instant : Date.parse(instant);
    this.advance((nowMs - this.#nowMs) / 1_000);
  }

  /**
   * Sets the clock forward without advancing monotonic time, as NTP or an operator may do. Negative seconds set it
   * back.
   */
  step(seconds: number): void {
    this.#nowMs += Math.round(seconds * 1_000);
  }
}

/** A simulated machine whose clock can be set, and which can be suspended. */
export class FakeMachine {
  #dateMs = Date.parse('2027-01-15T10:00:00Z');
  #monotonicMs = 77_000.25;
  #uptimeMs = 5_000_000.6;
  /** Runs once, when the monotonic clock is next read. */
  interruption: (() => void) | undefined;

  readonly clock: Clock = systemClock({
    date: () => Math.floor(this.#dateMs),
    monotonic: () => {
      const monotonic = this.#monotonicMs;
      this.interruption?.();
      this.interruption = undefined;
      return monotonic;
    },
    uptime: () => Math.round(this.#uptimeMs / 1_000),
  });

  pass(ms: number): void {
    this.#monotonicMs += ms;
    this.suspend(ms);
  }

  suspend(ms: number): void {
    this.#dateMs += ms;
    this.#uptimeMs += ms;
  }

  step(ms: number): void {
    this.#dateMs += ms;
  }
}
