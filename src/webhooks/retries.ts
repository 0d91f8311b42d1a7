/** The schedule of retries. */
import { dayMs, hourMs, minuteMs } from '../domain/clock.ts';

/** Delay before each attempt. The first attempt is immediate. */
export const attemptDelaysMs: readonly number[] = [
  ...[0, 5_000, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];
/** Jitter as a fraction of the delay, so that retries of many deliveries are spread out. */
const jitter = 0.1;
/** The longest delay with jitter, which no `Retry-After` exceeds. */
export const longestDelayMs = Math.ceil(Math.max(...attemptDelaysMs) * (1 + jitter));
const maxRetryAfterSeconds = dayMs / 1_000;

/** Result of an attempt. The fields are undefined if there was no response. */
export interface Attempt {
  readonly status?: number;
  readonly retryAfterSeconds?: number;
}

export function isSuccess({ status = 0 }: Attempt): boolean {
  return status >= 200 && status < 300;
}

/** Whether the receiver no longer accepts deliveries (410 Gone), which disables the webhook. */
export function isGone({ status }: Attempt): boolean {
  return status === 410;
}

/**
 * Milliseconds from the end of a failed attempt to the next attempt; undefined after the last attempt. `attempts`
 * includes the failed attempt. `random` is in [0, 1).
 */
export function delayAfter(attempts: number, last: Attempt, random: number): number | undefined {
  const delayMs = attemptDelaysMs[attempts];
  if (delayMs === undefined) return undefined;
  const isObeyed = last.status === 429 || last.status === 503;
  const demandedMs = isObeyed ? (last.retryAfterSeconds ?? 0) * 1_000 : 0;
  return Math.max(Math.round(delayMs * (1 - jitter + 2 * jitter * random)), demandedMs);
}

/**
 * The seconds until the time in a Retry-After header (RFC 9110 section 10.2.3), at most a day; undefined if malformed.
 */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - nowMs) / 1_000);
  return seconds >= 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined;
}
