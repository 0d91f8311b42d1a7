import type { Awaitable } from '../../domain/awaitable.ts';

/** How long a shared reading is cached, in ms. */
export const defaultCacheMs = 1_000;

/**
 * Shares an expensive reading: concurrent callers wait for the same reading. It is cached for `keepMs` after it has
 * completed, measured with the clock `now`. A failed reading is not cached.
 */
export function shareReading<T>(
  keepMs: number,
  now: () => number,
  read: () => Awaitable<T>,
): () => Promise<T> {
  let latest: { readonly value: Promise<T>; until: number } | undefined;
  return () => {
    if (latest !== undefined && now() < latest.until) return latest.value;
    const reading = { value: (async () => read())(), until: Number.POSITIVE_INFINITY };
    latest = reading;
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
