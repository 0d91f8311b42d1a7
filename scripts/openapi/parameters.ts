/** Derives the parameters in the OpenAPI document from the operation definitions. */
import * as z from 'zod';
import type { ZodOpenApiParameters } from 'zod-openapi';
import type { Precondition } from '../../src/contract/operation.ts';
import { isRead, type Operation } from '../../src/contract/operation.ts';
import { hasEntityTag, isRepeatable } from '../../src/contract/operations.ts';

/** Defines a request header as a component. All request headers are beta, because the specification defines none. */
function headerParameter(
  id: string,
  name: string,
  description: string,
  override: z.core.JSONSchema.BaseSchema,
) {
  return z
    .string()
    .optional()
    .meta({ description, override, param: { id, in: 'header', name, 'x-stability': 'beta' } });
}

// The schema has no pattern, because an invalid value is replaced rather than rejected.
export const requestId = headerParameter(
  'RequestId',
  'X-Request-Id',
  'ID for this request, 1 to 64 characters of `A-Z a-z 0-9 . _ -`, returned in the response. If it is missing or ' +
    'malformed, the service generates one.',
  { type: 'string' },
);

export const operatorsIdempotencyKey = headerParameter(
  'IdempotencyKey',
  'Idempotency-Key',
  'Makes retries safe: if the operator repeats the request with the same key, the change is applied only once ' +
    'and the response is the same for 24 hours, including an issued secret. 32 to 255 visible ASCII characters, quoted or unquoted. Use a new UUID ' +
    'for each new request.',
  {
    type: 'string',
    pattern: '^[\\x21-\\x7E]+$',
    minLength: 32,
    maxLength: 512,
  },
);

// Headers that change the effect of a request have no examples, because the reference page would add them to every code
// sample. If such a sample were sent twice, the second request would be treated as a retry or fail a precondition.
const idempotencyKey = headerParameter(
  'IdempotencyKey',
  'Idempotency-Key',
  'Makes retries safe: a repeated request with the same key gets the same response for 24 hours, and the change ' +
    'is applied only once. 1 to 255 visible ASCII characters, quoted or unquoted. Use a new UUID for each new request.',
  {
    type: 'string',
    pattern: '^[\\x21-\\x7E]+$',
    maxLength: 512,
  },
);

const ifModified = headerParameter(
  'IfModified',
  'If-None-Match',
  'Entity tags of cached responses. If the current `ETag` is among them, the response is 304 without a body.',
  { type: 'string' },
);

const lastEventId = headerParameter(
  'LastEventId',
  'Last-Event-ID',
  'ID of the last received event. The stream starts after this event, and `after` is ignored.',
  { type: 'integer', format: 'int64' },
);

export const preconditions: Readonly<Record<Precondition, ReturnType<typeof headerParameter>>> = {
  'If-Match': headerParameter(
    'IfMatch',
    'If-Match',
    'Entity tags, one of which must be the current `ETag`. `*` matches any existing resource. Otherwise the response is ' +
      '412 and nothing is changed.',
    { type: 'string' },
  ),
  'If-None-Match': headerParameter(
    'IfNew',
    'If-None-Match',
    '`*` requires that the resource does not exist yet. Otherwise the response is 412 and nothing is changed.',
    { type: 'string', const: '*' },
  ),
};

/** Returns the path and query parameters. */
export function buildRequestParams({ params, query }: Operation): ZodOpenApiParameters {
  return { ...(params && { path: z.object(pathParameters(params)) }), ...(query && { query }) };
}

/**
 * Returns the path parameters, all of which are int64. The example is outside the schema, because Dredd ignores
 * examples in schemas.
 */
function pathParameters(params: NonNullable<Operation['params']>): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(params).map(([name, { schema }]) => [name, schema.meta({ param: { example: 1 } })]),
  );
}

/** Returns the request headers that the operation reads. */
export function headerParameters(operation: Operation) {
  const conditions =
    operation.preconditions ?? (isRead(operation) && hasEntityTag(operation) ? [ifModified] : []);
  return [
    requestId,
    ...(isRepeatable(operation) ? [idempotencyKey] : []),
    ...(operation.success.stream ? [lastEventId] : []),
    ...conditions.map((condition) => (typeof condition === 'string' ? preconditions[condition] : condition)),
  ];
}
