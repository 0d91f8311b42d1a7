import type { Verdict, WindowState } from '../domain/limit.ts';

export type HeaderFields = Record<string, string>;

/** The specification's three (section 8), and both windows in the form of the IETF's RateLimit draft. */
export function verdictHeaders({ limit, remaining, resetAt, minute, day }: Verdict): HeaderFields {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetAt),
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
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
