/** Response headers of the admin API, as components of its OpenAPI document. */
import type { oas31 } from 'zod-openapi';
import { headers } from './headers.ts';

const {
  'X-Request-Id': requestId,
  ETag,
  'Retry-After': retryAfter,
  'Accept-Encoding': acceptEncoding,
} = headers;

export const adminHeaders = {
  'X-Request-Id': requestId,
  ETag,
  'Retry-After': retryAfter,
  'Accept-Encoding': acceptEncoding,
  'Accept-Patch': headers['Accept-Patch'],
  'Idempotent-Replayed': headers['Idempotent-Replayed'],
  'X-Events-Position': headers['X-Events-Position'],
  'Cache-Control': {
    description: 'The response must not be cached.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  'WWW-Authenticate': {
    description: 'Challenge (RFC 6750). Contains `error` only if a token or code was sent.',
    required: true,
    schema: { type: 'string', examples: ['Bearer realm="animal-store-admin", error="invalid_token"'] },
  },
  Location: {
    description: 'URL of the new resource.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', examples: ['/admin/v1/accounts/1'] },
  },
  PageLinks: {
    description:
      'URLs of the first page (`rel="first"`) and, except on the last page, the next page (`rel="next"`) (RFC 8288). ' +
      'The first page is omitted if the header would be longer than 3 kB.',
    required: true,
    schema: {
      type: 'string',
      examples: ['</admin/v1/keys?limit=20&cursor=LjIw>; rel="next", </admin/v1/keys?limit=20>; rel="first"'],
    },
  },
  EventLink: {
    ...headers.EventLink,
    schema: { type: 'string', examples: ['</admin/v1/events?limit=20&after=42>; rel="next"'] },
  },
  'Set-Cookie': {
    description: 'Sets or deletes the session cookie.',
    required: true,
    schema: { type: 'string' },
  },
} as const satisfies Record<string, oas31.HeaderObject>;
