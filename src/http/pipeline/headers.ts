import { cacheControl } from '../../contract/caching.ts';
import { daySeconds, minuteSeconds, type Verdict, type WindowState } from '../../domain/limit.ts';
import type { Quota } from '../../domain/plan.ts';
import type { Authenticated, Unauthenticated } from '../../operations/admission/admission.ts';

export type HeaderFields = Record<string, string>;

type Admission = Authenticated | Unauthenticated;

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
 * The headers of answers of one kind, written over from one to the next, for a `Response` copies `Headers` much faster than
 * it reads an object. What has not changed since the answer before is not written again.
 */
class ReusedHeaders {
  readonly #headers: Headers;
  #own: HeaderFields = {};
  #ofRoute: HeaderFields | undefined;
  #quota: Quota | undefined;

  constructor(constant: HeaderFields) {
    this.#headers = new Headers(constant);
  }

  write(
    requestId: string,
    admission: Admission,
    own: HeaderFields,
    ofRoute: HeaderFields | undefined,
  ): Headers {
    if (own !== this.#own || ofRoute !== this.#ofRoute) this.#writeOwn(own, ofRoute);
    this.#headers.set('X-Request-Id', requestId);
    if (admission.caller === undefined) this.#writeAddress(admission.state);
    else this.#writeAccount(admission.caller.quota, admission.verdict);
    return this.#headers;
  }

  #writeOwn(own: HeaderFields, ofRoute: HeaderFields | undefined): void {
    for (const name in this.#own) if (own[name] === undefined) this.#headers.delete(name);
    for (const name in this.#ofRoute) if (own[name] === undefined) this.#headers.delete(name);
    for (const name in ofRoute) this.#headers.set(name, ofRoute[name] ?? '');
    for (const name in own) this.#headers.set(name, own[name] ?? '');
    this.#own = own;
    this.#ofRoute = ofRoute;
  }

  #writeAddress(state: WindowState): void {
    writeLimit(this.#headers, state);
    this.#headers.delete('RateLimit-Policy');
    this.#headers.delete('RateLimit');
    this.#quota = undefined;
  }

  /** Also both windows, in the form of the IETF's RateLimit draft. */
  #writeAccount(quota: Quota, verdict: Verdict): void {
    writeLimit(this.#headers, verdict);
    if (quota !== this.#quota) this.#headers.set('RateLimit-Policy', policies.get(quota) ?? policyOf(quota));
    this.#quota = quota;
    const { minute, day } = verdict;
    this.#headers.set(
      'RateLimit',
      `"minute";r=${minute.remaining};t=${minute.secondsLeft}, "day";r=${day.remaining};t=${day.secondsLeft}`,
    );
  }
}

const ofSuccesses = new ReusedHeaders({ ...errorPageHeaders, 'Cache-Control': cacheControl.success });
const ofEmptySuccesses = new ReusedHeaders(emptyHeaders);
const ofErrors = new ReusedHeaders(errorPageHeaders);

/**
 * The headers of an answer: its own, those of its route, and those that all have. They are for one `Response` that is
 * made at once, for the next answer writes them over. `own` and `ofRoute` must not change afterwards.
 */
export function headersOf(
  { status, isEmpty }: { readonly status: number; readonly isEmpty: boolean },
  requestId: string,
  admission: Admission,
  own: HeaderFields,
  ofRoute: HeaderFields | undefined,
): Headers {
  const reused = status >= 400 ? ofErrors : isEmpty ? ofEmptySuccesses : ofSuccesses;
  return reused.write(requestId, admission, own, ofRoute);
}

/** The specification's three (section 8): of the binding window, or of an address without a valid key. */
export function writeLimit(
  headers: Headers,
  { limit, remaining, resetAt }: Pick<WindowState, 'limit' | 'remaining' | 'resetAt'>,
): void {
  headers.set('X-RateLimit-Limit', String(limit));
  headers.set('X-RateLimit-Remaining', String(remaining));
  headers.set('X-RateLimit-Reset', String(resetAt));
}

export function writeForMethod(headers: Headers, method: string): void {
  // Bun leaves the date out where it leaves the body out.
  if (method === 'HEAD') headers.set('Date', new Date().toUTCString());
  // Bun takes what follows a CONNECT for a tunnel, so the next request on the connection would never be answered.
  if (method === 'CONNECT') headers.set('Connection', 'close');
}

const policies = new WeakMap<Quota, string>();

function policyOf(quota: Quota): string {
  const policy = `"minute";q=${quota.perMinute};w=${minuteSeconds}, "day";q=${quota.perDay};w=${daySeconds}`;
  policies.set(quota, policy);
  return policy;
}
