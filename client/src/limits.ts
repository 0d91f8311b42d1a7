/** Parses the rate-limit headers of a response. */

/** One of the account's rate-limit windows. */
export interface LimitWindow {
  /** Requests that the plan allows in the window. */
  readonly limit: number;
  /** Requests left in the window. */
  readonly remaining: number;
  /** Whole seconds from this response until the window resets. */
  readonly resetSeconds: number;
}

/** The account's two rate-limit windows. */
export interface Limits {
  readonly minute: LimitWindow;
  readonly day: LimitWindow;
}

/**
 * Reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers); undefined if either is
 * missing.
 */
export function readLimits(headers: Headers): Limits | undefined {
  const state = headers.get('ratelimit') ?? '';
  const policy = headers.get('ratelimit-policy') ?? '';
  const readWindow = (name: string): LimitWindow | undefined => {
    const [, remaining, resetSeconds] = new RegExp(`"${name}";r=(\\d+);t=(\\d+)`).exec(state) ?? [];
    const [, limit] = new RegExp(`"${name}";q=(\\d+)`).exec(policy) ?? [];
    if (remaining === undefined || limit === undefined) return undefined;
    return { limit: Number(limit), remaining: Number(remaining), resetSeconds: Number(resetSeconds) };
  };
  const minute = readWindow('minute');
  const day = readWindow('day');
  return minute && day && { minute, day };
}

/**
 * Returns the delay in `Retry-After` in ms; undefined if there is none, or if it is malformed. The header contains
 * seconds or a date (RFC 9110 section 10.2.3).
 */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1_000;
  // Uses the `Date` header if available, because the local clock may be wrong.
  const from = Date.parse(headers.get('date') ?? '') || Date.now();
  // A date begins with the day of the week. `Date.parse` would read `3600, 10`, which proxies combine, as a year.
  const until = /^[a-z]{3,9},? /i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, until - from);
}
