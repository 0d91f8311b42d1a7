/** Response headers, as components of the OpenAPI document. */
import type { oas31 } from 'zod-openapi';
import { cacheControl } from '../../src/contract/caching.ts';
import { allOperations } from '../../src/contract/operations.ts';

type Header = oas31.HeaderObject;

const text = (example: string): oas31.SchemaObject => ({ type: 'string', examples: [example] });
const count = (minimum: number, example: number, format = 'int64'): oas31.SchemaObject => ({
  type: 'integer',
  format,
  minimum,
  examples: [example],
});

const sunset = allOperations.find(({ deprecation }) => deprecation)?.deprecation?.sunset;

// Headers defined by the specification are stable. All other headers are marked as beta.
const beta = { 'x-stability': 'beta' } as const;

export const headers = {
  'X-RateLimit-Limit': {
    description: 'Request limit of the window that has fewer requests remaining.',
    required: true,
    schema: count(1, 60),
  },
  'X-RateLimit-Remaining': {
    description: 'Requests remaining in that window.',
    required: true,
    schema: count(0, 59),
  },
  'X-RateLimit-Reset': {
    description: 'Unix timestamp in seconds at which that window resets.',
    required: true,
    schema: count(0, 1_767_225_660),
  },
  'X-Request-Id': {
    description: 'ID of this request: your `X-Request-Id` or a generated ID.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$', examples: ['q1Zb7.UxT0aK-5c'] },
    ...beta,
  },
  CacheControl: {
    description: 'Only the caller may cache the response, and must revalidate it before each use.',
    required: true,
    schema: { type: 'string', const: cacheControl.success },
    ...beta,
  },
  NoStore: {
    description: 'Errors must not be cached.',
    required: true,
    schema: { type: 'string', const: cacheControl.error },
    ...beta,
  },
  'X-Content-Type-Options': {
    description: 'Clients must not guess another content type.',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
    ...beta,
  },
  'Accept-Encoding': {
    description:
      'Sent if the request body was compressed: only uncompressed bodies are accepted (RFC 9110 section 12.5.3).',
    schema: { type: 'string', const: 'identity' },
    ...beta,
  },
  RateLimit: {
    description:
      'State of both windows (IETF draft "RateLimit header fields for HTTP"): `r` requests remaining, `t` ' +
      'seconds until reset. Sent on every response to a valid API key.',
    schema: text('"minute";r=59;t=42, "day";r=958;t=40210'),
    ...beta,
  },
  'RateLimit-Policy': {
    description:
      'Quotas of both windows (same draft): `q` requests per `w` seconds. Sent on every response to a valid ' +
      'API key.',
    schema: text('"minute";q=60;w=60, "day";q=1000;w=86400'),
    ...beta,
  },
  'Retry-After': {
    description: 'Seconds to wait before retrying.',
    required: true,
    schema: count(1, 42, 'int32'),
  },
  'WWW-Authenticate': {
    description: 'Challenge (RFC 6750). Contains `error` only if the request had credentials.',
    required: true,
    schema: text('Bearer realm="animal-store", error="invalid_token"'),
    ...beta,
  },
  ScopeChallenge: {
    description: 'Challenge (RFC 6750 section 3.1) with the required scope.',
    required: true,
    schema: text('Bearer realm="animal-store", error="insufficient_scope", scope="pets:write"'),
    ...beta,
  },
  RetryAfterInUse: {
    description: 'Seconds to wait before retrying. Sent only with `idempotency_key_in_use`.',
    schema: count(1, 1, 'int32'),
    ...beta,
  },
  'Accept-Patch': {
    description: 'Media types that this operation accepts (RFC 5789 section 2.2).',
    required: true,
    schema: text('application/merge-patch+json, application/json'),
    ...beta,
  },
  ETag: {
    description:
      'Strong entity tag of the resource in the body (RFC 9110 section 8.8.3), for `If-Match` and `If-None-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^"[\\x21\\x23-\\x7E]+"$', examples: ['"1dvz8gqk6lvn9"'] },
    ...beta,
  },
  Location: {
    description: 'URL of the new resource.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', examples: ['/v1/pets/1'] },
    ...beta,
  },
  'Idempotent-Replayed': {
    description:
      'Sent if the response to an earlier request with the same `Idempotency-Key` is repeated. No change was made.',
    schema: { type: 'string', const: 'true' },
    ...beta,
  },
  PageLinks: {
    description:
      'URLs of the first page (`rel="first"`) and, except on the last page, the next page (`rel="next"`) (RFC 8288). ' +
      'The first page is omitted if the header would be longer than 3 kB.',
    required: true,
    schema: text('</v1/pets?limit=20&cursor=LjIw>; rel="next", </v1/pets?limit=20>; rel="first"'),
    ...beta,
  },
  EventLink: {
    description: 'URL of the next page of events (`rel="next"`) (RFC 8288).',
    required: true,
    schema: text('</v1/events?limit=20&after=42>; rel="next"'),
    ...beta,
  },
  'X-Events-Position': {
    description:
      'ID of the last event examined, which is also `after` in the `Link`. If it is the `after` of the request, there are no further events yet.',
    required: true,
    schema: text('42'),
    ...beta,
  },
  StreamNoStore: {
    description: 'Streams must not be cached.',
    required: true,
    schema: { type: 'string', const: cacheControl.stream },
    ...beta,
  },
  'X-Accel-Buffering': {
    description: 'Disables buffering in nginx, so that each event is sent immediately.',
    required: true,
    schema: { type: 'string', const: 'no' },
    ...beta,
  },
  Deprecation: {
    description: 'Date of the deprecation (RFC 9745), as `@` and a Unix timestamp in seconds.',
    required: true,
    schema: { type: 'string', pattern: '^@\\d+$', examples: ['@1795219200'] },
    ...beta,
  },
  Sunset: {
    description: 'Date on which the operation will be removed (RFC 8594), as an HTTP date.',
    required: true,
    schema: text(sunset?.toUTCString() ?? ''),
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
      'The replacement (`rel="successor-version"`) and the documentation of the deprecation (`rel="deprecation"`); on ' +
      'errors, also the page that explains the code (`rel="help"`).',
    required: true,
    schema: text(
      '</v1/pets>; rel="successor-version", </docs/guides/versioning>; rel="deprecation"; type="text/html"',
    ),
    ...beta,
  },
} as const satisfies Record<string, Header>;
