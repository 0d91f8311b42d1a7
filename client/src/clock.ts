import { onAbort } from './abort.js';

/** Time and randomness, so that tests can bring their own. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Runs a function after about this many milliseconds, unless it is cancelled by what is returned. */
  after(ms: number, run: () => void): () => void;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

/** The longest that timers take, 2^31 - 1 ms: a longer one would fire at once. */
export const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.ceil(ms), longestTimerMs));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves after so many milliseconds; rejects with the signal's reason when that comes first. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const cancel = clock.after(ms, () => {
      stop();
      resolve();
    });
    const stop = onAbort(signal, () => {
      cancel();
      reject(signal?.reason);
    });
  });
}
