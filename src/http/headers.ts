import { cacheControl } from '../contract/caching.ts';
import { daySeconds, minuteSeconds, type Verdict, type WindowState } from '../domain/limit.ts';
import type { Quota } from '../domain/plan.ts';
import type { Authenticated, Unauthenticated } from '../operations/admission.ts';

export type HeaderFields = Record<string, string>;

/** What some successes have and others do not. */
const successNames = ['Link', 'Deprecation', 'Sunset'] as const;
/** The same of errors. */
const errorNames = [...successNames, 'Retry-After', 'WWW-Authenticate', 'Allow', 'Accept-Encoding'] as const;

export type SuccessFields = Partial<Record<(typeof successNames)[number], string>>;
export type ErrorFields = Partial<Record<(typeof errorNames)[number], string>>;

/** What an error carries that is answered before any check. */
export const errorPageHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': cacheControl.error,
  'X-Content-Type-Options': 'nosniff',
} as const satisfies HeaderFields;

// A `Response` copies `Headers` much faster than it reads an object, so two are written over from answer to answer.
const ofSuccesses = new Headers({ ...errorPageHeaders, 'Cache-Control': cacheControl.success });
const ofErrors = new Headers(errorPageHeaders);

/** What does not change from one answer to the next is written once. */
const policies = new WeakMap<Quota, string>();

type Admission = Authenticated | Unauthenticated;

/**
 * The headers of an answer: its own, those of its route, and those that all have. They are for one `Response` that is
 * made at once, for the next answer writes them over.
 */
export function headersOf(
  status: number,
  requestId: string,
  admission: Admission,
  own: ErrorFields | undefined,
  ofRoute: ErrorFields | undefined,
): Headers {
  const headers = status < 400 ? ofSuccesses : ofErrors;
  const names = status < 400 ? successNames : errorNames;
  writeAdmission(headers, requestId, admission);
  for (const name of names) write(headers, name, own?.[name] ?? ofRoute?.[name]);
  return headers;
}

/** Nothing of the answer before may be left. */
function write(headers: Headers, name: string, value: string | undefined): void {
  if (value === undefined) headers.delete(name);
  else headers.set(name, value);
}

function writeAdmission(headers: Headers, requestId: string, admission: Admission): void {
  headers.set('X-Request-Id', requestId);
  if (admission.caller === undefined) {
    writeLimit(headers, admission.state);
    headers.delete('RateLimit-Policy');
    headers.delete('RateLimit');
  } else {
    writeLimit(headers, admission.verdict);
    writeWindows(headers, admission.caller.quota, admission.verdict);
  }
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

/** Both windows in the form of the IETF's RateLimit draft. */
function writeWindows(headers: Headers, quota: Quota, { minute, day }: Verdict): void {
  headers.set('RateLimit-Policy', policies.get(quota) ?? policyOf(quota));
  headers.set(
    'RateLimit',
    `"minute";r=${minute.remaining};t=${minute.secondsLeft}, "day";r=${day.remaining};t=${day.secondsLeft}`,
  );
}

function policyOf(quota: Quota): string {
  const policy = `"minute";q=${quota.perMinute};w=${minuteSeconds}, "day";q=${quota.perDay};w=${daySeconds}`;
  policies.set(quota, policy);
  return policy;
}
