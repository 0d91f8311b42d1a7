/** Determines which failures are retried, and when. See "Retries" in README.md. */
import { isUnsent } from './attempt.js';
import type { Clock } from './clock.js';
import { type AnimalStoreError, ConnectionError } from './errors.js';
import { retryAfterMs } from './limits.js';
import type { Prepared } from './prepare.js';

/** Maximum number of retries after a 5xx response that does not indicate an outage, such as a 500. */
const maxUnexpected = 2;

/** Initial and maximum delay after an outage. Delays double, with full jitter. */
const outageBackoffMs = [200, 5_000] as const;
/** Initial and maximum delay after a 429 without `Retry-After`, which comes from a proxy. */
const limitBackoffMs = [1_000, 30_000] as const;

/** Responses of proxies to requests that the service did not answer. 520 to 530 come from Cloudflare. */
const isProxyOutage = (status: number) =>
  status === 502 || status === 504 || (status >= 520 && status <= 530);

export interface Retry {
  /** Minimum wait requested by the server. */
  readonly minMs: number;
  readonly waitMs: number;
  /** Whether all calls of the client must wait. */
  readonly isShared: boolean;
}

/** Returns when to retry a request after `failures` failures; undefined if it must not be retried. */
export function planRetry(
  error: AnimalStoreError,
  { method, isRepeatable }: Pick<Prepared, 'method' | 'isRepeatable'>,
  failures: number,
  clock: Clock,
): Retry | undefined {
  const { code, status, headers } = error;
  const isLimit = status === 429;
  const isOutage = status === undefined || status === 503 || isProxyOutage(status);
  if (code === 'too_many_failed_authentications') return undefined;
  if (!isLimit && !isOutage && code !== 'idempotency_key_in_use') {
    if (status < 500 || failures > maxUnexpected) return undefined;
  }
  if (!isRepeatable && isUncertain(error, method)) return undefined;
  const afterMs = headers && retryAfterMs(headers);
  const minMs = afterMs ?? 0;
  // `Retry-After` is exact, so jitter is added only from the second failure on.
  const isExact = afterMs !== undefined && failures === 1;
  const [firstMs, maxMs] = isLimit ? limitBackoffMs : outageBackoffMs;
  const jitterMs = isExact ? 0 : clock.random() * Math.min(firstMs * 2 ** (failures - 1), maxMs);
  return {
    minMs,
    waitMs: minMs + jitterMs,
    isShared: (isLimit && code !== 'too_many_streams') || status === 503,
  };
}

/** Statuses with which the service reports that no request with the same `Idempotency-Key` was applied. */
const conclusiveStatuses = [400, 404, 409, 410, 413, 415, 422];

/**
 * Whether a failed request may have been applied. `wasUncertain` is true if an attempt, including the last one, may have
 * been processed.
 */
export function isOutcomeUnknown(
  { code, status = 0 }: AnimalStoreError,
  { method, isChange }: Pick<Prepared, 'method' | 'isChange'>,
  wasUncertain: boolean,
): boolean {
  const isOther = code === 'idempotency_key_in_use' || code === 'unexpected_response';
  return isChange && wasUncertain && !(method === 'POST' && conclusiveStatuses.includes(status) && !isOther);
}

/** Whether the service may have processed a request that failed with this error. */
export function isUncertain(error: AnimalStoreError, method: string): boolean {
  // Bun silently repeats a PUT or DELETE when a reused connection breaks, and reports only the second failure.
  if (error instanceof ConnectionError)
    return !isUnsent(error) || (/PUT|DELETE/.test(method) && 'Bun' in globalThis);
  if (error.code === 'service_unavailable') return !/Nothing was changed/.test(error.message);
  // A proxy sends such a response, even after the service has processed the request. It limits requests before that.
  if (error.code === 'unexpected_response') return error.status !== 429;
  return error.status === undefined || error.status >= 500;
}
