/** The response headers, as components of the OpenAPI document. */
import type { oas31 } from 'zod-openapi';
import { cacheControl } from '../../src/contract/caching.ts';

type Header = oas31.HeaderObject;

const text = (example: string): oas31.SchemaObject => ({ type: 'string', examples: [example] });
const count = (minimum: number, example: number, format = 'int64'): oas31.SchemaObject => ({
  type: 'integer',
  format,
  minimum,
  examples: [example],
});

// What the specification names is stable; the rest is an addition.
const beta = { 'x-stability': 'beta' } as const;

export const headers = {
  'X-RateLimit-Limit': {
    description:
      'The request limit in force: that of the binding window, the one with fewer requests remaining.',
    required: true,
    schema: count(1, 60),
  },
  'X-RateLimit-Remaining': {
    description: 'Requests remaining in the current window.',
    required: true,
    schema: count(0, 59),
  },
  'X-RateLimit-Reset': {
    description: 'Unix timestamp, in seconds, at which the limit resets.',
    required: true,
    schema: count(0, 1_767_225_660),
  },
  'X-Request-Id': {
    description: 'The id of this request: your own, or one the service made.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$', examples: ['q1Zb7.UxT0aK-5c'] },
    ...beta,
  },
  CacheControl: {
    description:
      'The response is for the caller alone, who may keep it but has to ask again before each use.',
    required: true,
    schema: { type: 'string', const: cacheControl.success },
    ...beta,
  },
  NoStore: {
    description: 'An error is not to be kept.',
    required: true,
    schema: { type: 'string', const: cacheControl.error },
    ...beta,
  },
  'X-Content-Type-Options': {
    description: 'The body is what its Content-Type says.',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
    ...beta,
  },
  'Accept-Encoding': {
    description:
      'When the coding of the body is at fault: bodies are taken uncompressed (RFC 9110 section 12.5.3).',
    schema: { type: 'string', const: 'identity' },
    ...beta,
  },
  RateLimit: {
    description:
      'Both windows at once, by the IETF draft "RateLimit header fields for HTTP": `r` requests remaining, `t` ' +
      'seconds left. On every response to a valid API key.',
    schema: text('"minute";r=59;t=42, "day";r=958;t=40210'),
    ...beta,
  },
  'RateLimit-Policy': {
    description:
      'The quotas of both windows, by the same draft: `q` requests per `w` seconds. On every response to a valid ' +
      'API key.',
    schema: text('"minute";q=60;w=60, "day";q=1000;w=86400'),
    ...beta,
  },
  'Retry-After': {
    description:
      'Whole seconds to wait. A client that waits exactly this long is not turned away a second time.',
    required: true,
    schema: count(1, 42, 'int32'),
  },
  'WWW-Authenticate': {
    description: 'The challenge of RFC 6750; `error` only when a credential was sent.',
    required: true,
    schema: text('Bearer realm="animal-store", error="invalid_token"'),
    ...beta,
  },
  PageLinks: {
    description:
      'The first page (`rel="first"`) and, unless this is the last one, the next (`rel="next"`), by RFC 8288.',
    required: true,
    schema: text('</v1/pets?limit=20&cursor=LjIw>; rel="next", </v1/pets?limit=20>; rel="first"'),
    ...beta,
  },
  Deprecation: {
    description: 'When the deprecation was announced (RFC 9745), as `@` and a Unix timestamp in seconds.',
    required: true,
    schema: { type: 'string', pattern: '^@\\d+$', examples: ['@1795219200'] },
    ...beta,
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594), as an HTTP date.',
    required: true,
    schema: text('Thu, 05 Dec 2030 00:00:00 GMT'),
    ...beta,
  },
  HelpLink: {
    description: 'The page that explains the error code (`rel="help"`).',
    required: true,
    schema: text('</docs/errors/invalid_api_key>; rel="help"; type="text/html"'),
    ...beta,
  },
  DeprecationLinks: {
    description:
      'What replaces the operation (`rel="successor-version"`) and its documentation (`rel="deprecation"`); on errors, ' +
      'also the page that explains the code (`rel="help"`).',
    required: true,
    schema: text('</v1/pets>; rel="successor-version", </docs>; rel="deprecation"; type="text/html"'),
    ...beta,
  },
} as const satisfies Record<string, Header>;
