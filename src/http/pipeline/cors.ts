import { allOperations, allowedMethods } from '../../contract/operations.ts';
import type { HeaderFields } from './response-headers.ts';

const exposed = [
  'Link',
  'Location',
  'ETag',
  'Idempotent-Replayed',
  'Allow',
  'Accept-Encoding',
  'Accept-Patch',
  'WWW-Authenticate',
  'Retry-After',
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Events-Position',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
].join(', ');

/** CORS response headers for a configured origin (Fetch standard, section 3.3). */
export function corsHeaders(headers: Headers, origins: ReadonlySet<string>): HeaderFields {
  const origin = headers.get('origin');
  if (origin === null || !origins.has(origin)) return { Vary: 'Origin' };
  return { Vary: 'Origin', 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed };
}

/** Whether this is a CORS preflight from a configured origin. */
export function isPreflight({ method, headers }: Request, origins: ReadonlySet<string>): boolean {
  if (method !== 'OPTIONS' || origins.size === 0 || !headers.has('access-control-request-method'))
    return false;
  return origins.has(headers.get('origin') ?? '');
}

const methods = new Set(allOperations.flatMap(allowedMethods));

export const preflightHeaders: HeaderFields = {
  'Access-Control-Allow-Methods': [...methods].join(', '),
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-Request-Id, Traceparent, Tracestate',
  'Access-Control-Max-Age': '600',
};
