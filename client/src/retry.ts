/** Which failures are retried, and when. README.md, "Retries", describes it. */
import { isUnsent } from './attempt.js';
import type { Clock } from './clock.js';
import { type AnimalStoreError, ConnectionError } from './errors.js';
import { retryAfterMs } from './limits.js';
import type { Prepared } from './prepare.js';

/** Retries of failures other than outages: 500 and unexpected statuses. */
const maxUnexpected = 2;

/** Initial and maximum delay. Delays double, with full jitter. */
const outageBackoffMs = [200, 5_000] as const;
/** Delay after a 429 without a Retry-After, which comes from a proxy. */
const limitBackoffMs = [1_000, 30_000] as const;

export interface Retry {
  /** Minimum wait requested by the server. */
  readonly minMs: number;
  readonly waitMs: number;
  /** All calls of the client wait. */
  readonly isShared: boolean;
}

/** When to retry a request that failed `failures` times; undefined if never. */
export function retryOf(
  error: AnimalStoreError,
  { method, isRepeatable }: Pick<Prepared, 'method' | 'isRepeatable'>,
  failures: number,
  clock: Clock,
): Retry | undefined {
  const { code, status, headers } = error;
  const isLimit = status === 429;
  const isOutage = status === undefined || status === 502 || status === 503 || status === 504;
  if (code === 'too_many_failed_authentications') return undefined;
  if (!isLimit && !isOutage && code !== 'idempotency_key_in_use') {
    if (status < 500 || failures > maxUnexpected) return undefined;
  }
  if (!isRepeatable && isUncertain(error, method)) return undefined;
  const afterMs = headers && retryAfterMs(headers);
  const minMs = afterMs ?? 0;
  // Retry-After is exact, so only a second rejection is a reason to wait longer.
  const isExact = afterMs !== undefined && failures === 1;
  const [firstMs, maxMs] = isLimit ? limitBackoffMs : outageBackoffMs;
  const jitterMs = isExact ? 0 : clock.random() * Math.min(firstMs * 2 ** (failures - 1), maxMs);
  return { minMs, waitMs: minMs + jitterMs, isShared: isLimit || status === 503 };
}

/** Whether a request with this failure may have been performed. */
export function isUncertain(error: AnimalStoreError, method: string): boolean {
  // Bun silently repeats a DELETE when a reused connection breaks, and reports only the second failure.
  if (error instanceof ConnectionError)
    return !isUnsent(error) || (method === 'DELETE' && 'Bun' in globalThis);
  if (error.code === 'service_unavailable') return !/Nothing was changed/.test(error.message);
  return error.status === undefined || error.status >= 500;
}
