import { cacheControl } from '../../contract/caching.ts';
import type { Quota } from '../../domain/plan.ts';
import { daySeconds, minuteSeconds, type Verdict, type WindowState } from '../../limits/limit.ts';
import type { Authenticated, Unauthenticated } from '../../operations/admission/admission.ts';

export type HeaderFields = Record<string, string>;

type Admission = Authenticated | Unauthenticated;

type Limit = Pick<WindowState, 'limit' | 'remaining' | 'resetAt'>;

export const errorPageHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': cacheControl.error,
  'X-Content-Type-Options': 'nosniff',
} as const satisfies HeaderFields;

const { 'Content-Type': _type, ...emptyHeaders } = {
  ...errorPageHeaders,
  'Cache-Control': cacheControl.success,
};

/**
 * Reusable headers for one kind of response: a `Response` copies `Headers` much faster than it reads a plain object.
 * Only values that differ from the previous response are written.
 */
class ReusedHeaders {
  readonly #constant: HeaderFields;
  readonly #headers: Headers;
  #own: HeaderFields = {};
  #quota: Quota | undefined;
  #limit: number | undefined;
  #resetAt: number | undefined;

  constructor(constant: HeaderFields) {
    this.#constant = constant;
    this.#headers = new Headers(constant);
  }

  write(requestId: string, admission: Admission, own: HeaderFields): Headers {
    if (own !== this.#own) this.#writeOwn(own);
    this.#headers.set('X-Request-Id', requestId);
    if (admission.caller === undefined) this.#writeAddress(admission.state);
    else this.#writeAccount(admission.caller.quota, admission.verdict);
    return this.#headers;
  }

  /** Writes the response's specific headers, and removes those of the previous response. */
  #writeOwn(own: HeaderFields): void {
    for (const name in this.#own) {
      if (own[name] !== undefined) continue;
      const constant = this.#constant[name];
      if (constant === undefined) this.#headers.delete(name);
      else this.#headers.set(name, constant);
    }
    for (const name in own) this.#headers.set(name, own[name] ?? '');
    this.#own = own;
  }

  #writeLimit({ limit, remaining, resetAt }: Limit): void {
    if (limit !== this.#limit) this.#headers.set('X-RateLimit-Limit', String(limit));
    this.#headers.set('X-RateLimit-Remaining', String(remaining));
    if (resetAt !== this.#resetAt) this.#headers.set('X-RateLimit-Reset', String(resetAt));
    this.#limit = limit;
    this.#resetAt = resetAt;
  }

  #writeAddress(state: WindowState): void {
    this.#writeLimit(state);
    this.#headers.delete('RateLimit-Policy');
    this.#headers.delete('RateLimit');
    this.#quota = undefined;
  }

  /** Includes both windows, in the format of the IETF draft for RateLimit header fields. */
  #writeAccount(quota: Quota, verdict: Verdict): void {
    this.#writeLimit(verdict);
    if (quota !== this.#quota)
      this.#headers.set('RateLimit-Policy', policies.get(quota) ?? rateLimitPolicy(quota));
    this.#quota = quota;
    const { minute, day } = verdict;
    this.#headers.set(
      'RateLimit',
      `"minute";r=${minute.remaining};t=${minute.secondsLeft}, "day";r=${day.remaining};t=${day.secondsLeft}`,
    );
  }
}

class RouteHeaders {
  readonly successes;
  readonly emptySuccesses;
  readonly errors;

  constructor(ofRoute: HeaderFields) {
    const successHeaders = { ...errorPageHeaders, 'Cache-Control': cacheControl.success };
    this.successes = new ReusedHeaders({ ...successHeaders, ...ofRoute });
    this.emptySuccesses = new ReusedHeaders({ ...emptyHeaders, ...ofRoute });
    this.errors = new ReusedHeaders({ ...errorPageHeaders, ...ofRoute });
  }
}

const defaultRouteHeaders = new RouteHeaders({});
const byRouteHeaders = new WeakMap<HeaderFields, RouteHeaders>();

function routeHeaders(ofRoute: HeaderFields | undefined): RouteHeaders {
  if (ofRoute === undefined) return defaultRouteHeaders;
  const known = byRouteHeaders.get(ofRoute);
  if (known !== undefined) return known;
  const made = new RouteHeaders(ofRoute);
  byRouteHeaders.set(ofRoute, made);
  return made;
}

/**
 * All headers of a response: the given headers, the route's headers, and the headers that every response has. Pass the
 * result to a `Response` immediately, because the next response overwrites it. `own` and `ofRoute` must not be modified
 * later.
 */
export function responseHeaders(
  { status, isEmpty }: { readonly status: number; readonly isEmpty: boolean },
  requestId: string,
  admission: Admission,
  own: HeaderFields,
  ofRoute: HeaderFields | undefined,
): Headers {
  const { errors, emptySuccesses, successes } = routeHeaders(ofRoute);
  const reusedHeaders = status >= 400 ? errors : isEmpty ? emptySuccesses : successes;
  return reusedHeaders.write(requestId, admission, own);
}

/**
 * The three rate limit headers of the specification (section 8), for the window that will be exhausted first or,
 * without a valid key, for the address.
 */
export function setRateLimitHeaders(headers: Headers, { limit, remaining, resetAt }: Limit): void {
  headers.set('X-RateLimit-Limit', String(limit));
  headers.set('X-RateLimit-Remaining', String(remaining));
  headers.set('X-RateLimit-Reset', String(resetAt));
}

/** Reads `response.headers` only for these methods, because reading this property creates an object. */
export function setMethodHeaders(response: Pick<Response, 'headers'>, method: string): void {
  // Bun omits the Date header when it omits the body.
  if (method === 'HEAD') response.headers.set('Date', new Date().toUTCString());
  // Bun treats data after a CONNECT as a tunnel, so the next request on the connection would never be answered.
  if (method === 'CONNECT') response.headers.set('Connection', 'close');
}

const policies = new WeakMap<Quota, string>();

function rateLimitPolicy(quota: Quota): string {
  const policy = `"minute";q=${quota.perMinute};w=${minuteSeconds}, "day";q=${quota.perDay};w=${daySeconds}`;
  policies.set(quota, policy);
  return policy;
}
