/** Time and randomness, so that tests can bring their own. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Resolves after at least this many milliseconds. */
  sleep(ms: number): Promise<void>;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

/** The longest that a timer takes, 2^31 - 1 ms; more would fire at once. */
const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(Math.ceil(ms), longestTimerMs))),
  random: () => Math.random(),
};
