import { onAbort } from './abort.js';

/** Source of time and randomness, which tests can replace. */
export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Runs a function after about `ms` milliseconds. The returned function cancels it. */
  after(ms: number, run: () => void): () => void;
  /** A random number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** Maximum timer delay, 2^31 - 1 ms. A timer with a longer delay would fire immediately. */
export const maxTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.ceil(ms), maxTimerMs));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves after `ms` milliseconds, or rejects with the signal's reason if the signal aborts first. */
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
