/** Which failures are repeated, and when (the guide "Errors and retries"). */
import type { Clock } from './clock.js';
import type { AnimalStoreError } from './errors.js';
import { retryAfterMs } from './limits.js';
import type { Request } from './request.js';

/** The most that a failure is repeated, by its code. Waits for limits are bounded by `maxWaitSeconds` instead. */
const most: Readonly<Record<string, number>> = { connection_failed: 5, timeout: 2 };
const mostServerErrors = 2;

const firstBackoffMs = 200;
const longestBackoffMs = 10_000;
/** A minute's limit without a Retry-After comes from elsewhere than the service: it gets longer pauses. */
const firstLimitBackoffMs = 1_000;
const longestLimitBackoffMs = 30_000;

export interface Repetition {
  readonly waitMs: number;
  /** All calls of the client wait. */
  readonly isShared: boolean;
}

/** When to repeat a request that failed so often; undefined: not at all. */
export function repetitionOf(
  error: AnimalStoreError,
  request: Request,
  failures: number,
  clock: Clock,
): Repetition | undefined {
  const { code, status, headers } = error;
  const afterMs = headers && retryAfterMs(headers);
  if (status === 429 || status === 503) {
    if (code === 'too_many_failed_authentications') return undefined;
    const jitterMs = backoffMs(failures - 1, firstLimitBackoffMs, longestLimitBackoffMs, clock);
    // Who waits exactly as long as was told is admitted, so only a second refusal is a reason to wait longer.
    return {
      waitMs: afterMs === undefined || failures > 1 ? (afterMs ?? 0) + jitterMs : afterMs,
      isShared: true,
    };
  }
  const waitMs = Math.max(afterMs ?? 0, backoffMs(failures - 1, firstBackoffMs, longestBackoffMs, clock));
  if (code === 'idempotency_key_in_use') return { waitMs, isShared: false };
  const isBroken = status === undefined || status >= 500;
  const isOften = failures > (most[code] ?? mostServerErrors);
  return isBroken && !isOften && isRepeatable(request) ? { waitMs, isShared: false } : undefined;
}

/** Whether a request that may have been done can be sent again. Every POST has an Idempotency-Key. */
function isRepeatable({ method, options }: Request): boolean {
  return method !== 'PATCH' || options?.ifMatch !== undefined;
}

/** Doubles with each failure; full jitter. */
function backoffMs(doublings: number, firstMs: number, longestMs: number, clock: Clock): number {
  return clock.random() * Math.min(firstMs * 2 ** doublings, longestMs);
}
