import { daySeconds, minuteSeconds, type Verdict, type WindowState } from '../domain/limit.ts';
import type { Quota } from '../domain/plan.ts';

export type HeaderFields = Record<string, string>;

/** What does not change from one answer to the next is written once. */
const policies = new WeakMap<Quota, string>();

/** The specification's three (section 8), and both windows in the form of the IETF's RateLimit draft. */
export function verdictHeaders(
  quota: Quota,
  { limit, remaining, resetAt, minute, day }: Verdict,
): HeaderFields {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetAt),
    'RateLimit-Policy': policies.get(quota) ?? policyOf(quota),
    RateLimit: `"minute";r=${minute.remaining};t=${minute.secondsLeft}, "day";r=${day.remaining};t=${day.secondsLeft}`,
  };
}

/** For requests without a valid key: what their address has left. */
export function addressHeaders({ limit, remaining, resetAt }: WindowState): HeaderFields {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetAt),
  };
}

function policyOf(quota: Quota): string {
  const policy = `"minute";q=${quota.perMinute};w=${minuteSeconds}, "day";q=${quota.perDay};w=${daySeconds}`;
  policies.set(quota, policy);
  return policy;
}
