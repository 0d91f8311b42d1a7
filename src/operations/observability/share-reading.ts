import type { Awaitable } from '../../domain/awaitable.ts';

/** How long a reading that callers share is kept, in ms. */
export const defaultCacheMs = 1_000;

/**
 * Shares an expensive reading: callers at the same time wait for the same reading, which is kept for `keepMs` after it has
 * ended, by the clock `now`. A failed reading is not kept.
 */
export function shareReading<T>(
  keepMs: number,
  now: () => number,
  read: () => Awaitable<T>,
): () => Promise<T> {
  let kept: { readonly value: Promise<T>; until: number } | undefined;
  return () => {
    if (kept !== undefined && now() < kept.until) return kept.value;
    const reading = { value: (async () => read())(), until: Number.POSITIVE_INFINITY };
    kept = reading;
    reading.value.then(
      () => {
        reading.until = now() + keepMs;
      },
      () => {
        reading.until = Number.NEGATIVE_INFINITY;
      },
    );
    return reading.value;
  };
}
