/** Which failures are retried, and when. README.md, "Retries", describes it. */
import { isUnsent } from './attempt.js';
import type { Clock } from './clock.js';
import { type AnimalStoreError, ConnectionError } from './errors.js';
import { retryAfterMs } from './limits.js';
import type { Prepared } from './prepare.js';

/** Retries of failures that are no outage: 500 and unexpected statuses. */
const mostUnexpected = 2;

/** The first and the longest delay. Delays double, with full jitter. */
const outageBackoffMs = [200, 5_000] as const;
/** Of a 429 without a Retry-After, which comes from a proxy. */
const limitBackoffMs = [1_000, 30_000] as const;

export interface Retry {
  /** What the server asks for: the least to wait. */
  readonly leastMs: number;
  readonly waitMs: number;
  /** All calls of the client wait. */
  readonly isShared: boolean;
}

/** When to send a request again that failed `failures` times; undefined: never. */
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
    if (status < 500 || failures > mostUnexpected) return undefined;
  }
  if (!isRepeatable && isUncertain(error, method)) return undefined;
  const afterMs = headers && retryAfterMs(headers);
  const leastMs = afterMs ?? 0;
  // Waiting exactly as long as Retry-After is enough, so only a second refusal is a reason to wait longer.
  const isExact = afterMs !== undefined && failures === 1;
  const [firstMs, longestMs] = isLimit ? limitBackoffMs : outageBackoffMs;
  const jitterMs = isExact ? 0 : clock.random() * Math.min(firstMs * 2 ** (failures - 1), longestMs);
  return { leastMs, waitMs: leastMs + jitterMs, isShared: isLimit || status === 503 };
}

/** Whether the request that failed so may have been performed. */
export function isUncertain(error: AnimalStoreError, method: string): boolean {
  // Bun sends a DELETE again on its own when a reused connection breaks, and reports only the second failure.
  if (error instanceof ConnectionError)
    return !isUnsent(error) || (method === 'DELETE' && 'Bun' in globalThis);
  if (error.code === 'service_unavailable') return !/Nothing was changed/.test(error.message);
  return error.status === undefined || error.status >= 500;
}
