/** Time as the limits see it, in Unix milliseconds. */
export interface Clock {
  now(): number;
  /** True for a test's clock: it rules also where a server's own clock otherwise would. */
  readonly rules?: boolean;
}

/**
 * The system's clock, held steady: it starts at the wall clock's time and then follows the monotonic clock, so
 * that a step of the wall clock (NTP, an operator) neither ends a window early nor stretches it.
 */
export function steadyClock(): Clock {
  const offset = Date.now() - performance.now();
  return { now: () => Math.floor(offset + performance.now()) };
}
