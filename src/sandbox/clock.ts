import { type Clock, systemClock } from '../domain/clock.ts';

/** Furthest that a clock can be put ahead: dates beyond have more digits than four in their year. */
const lastMs = Date.parse('9999-01-01T00:00:00Z');

/** The system's clock, put ahead. It goes back only when its sandbox is put back to its start. */
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

  get aheadSeconds(): number {
    return this.#system.aheadSeconds;
  }

  /** How far it is ahead of the system's clock, in seconds. */
  get advancedSeconds(): number {
    return this.#advancedMs / 1_000;
  }

  /** Lets time pass; false when that would be back, or beyond the year 9998. */
  advance(ms: number): boolean {
    if (!(ms >= 0) || this.now() + ms >= lastMs) return false;
    this.#advancedMs += ms;
    return true;
  }

  reset(): void {
    this.#advancedMs = 0;
  }
}
