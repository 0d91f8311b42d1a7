import { onAbort } from './abort.js';

/** Time and randomness, replaceable by tests. */
export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Runs a function after about this many milliseconds, unless the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

/** Maximum delay of timers, 2^31 - 1 ms; longer ones would fire immediately. */
export const maxTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.ceil(ms), maxTimerMs));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves after this many milliseconds, or rejects with the signal's reason if it aborts first. */
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
