/** The parameters of each operation in the OpenAPI document, derived from its row. */
import * as z from 'zod';
import type { ZodOpenApiParameters } from 'zod-openapi';
import type { Precondition } from '../../src/contract/operation.ts';
import { isRead, isRepeatable, isTagged, type Operation } from '../../src/contract/operations.ts';

/** A request header as a component. None of them is in the specification, so all may still change. */
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

// Any value is accepted, so the schema has no pattern. Invalid values are replaced instead of rejected.
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
  'Makes a retry safe: a repetition of the request by the same operator with the same key does nothing and gets the same response ' +
    'for 24 hours, with the secret that was issued. 32 to 255 visible ASCII characters, as a quoted string or bare; use a new UUID ' +
    'for each new request.',
  {
    type: 'string',
    pattern: '^[\\x21-\\x7E]+$',
    minLength: 32,
    maxLength: 512,
  },
);

// Headers that change the effect of a request have no examples. The reference page would put them into every
// sample, so that two pasted samples would be one request, or match nothing.
const idempotencyKey = headerParameter(
  'IdempotencyKey',
  'Idempotency-Key',
  'Makes a retry safe: a repetition of the request with the same key gets the same response for 24 hours, and nothing ' +
    'is done twice. 1 to 255 visible ASCII characters, as a quoted string or bare; use a new UUID for each new request.',
  {
    type: 'string',
    pattern: '^[\\x21-\\x7E]+$',
    maxLength: 512,
  },
);

const ifModified = headerParameter(
  'IfModified',
  'If-None-Match',
  'Entity tags of responses that you have. If the current `ETag` is among them, the response is 304 without a body.',
  { type: 'string' },
);

const lastEventId = headerParameter(
  'LastEventId',
  'Last-Event-ID',
  'ID of the last event that was received. The stream starts after it; `after` is ignored.',
  { type: 'integer', format: 'int64' },
);

export const preconditions: Readonly<Record<Precondition, ReturnType<typeof headerParameter>>> = {
  'If-Match': headerParameter(
    'IfMatch',
    'If-Match',
    'Entity tags, one of which the resource must have now, or `*`: it must exist. Otherwise the response is 412 and ' +
      'nothing is changed.',
    { type: 'string' },
  ),
  'If-None-Match': headerParameter(
    'IfNew',
    'If-None-Match',
    'The resource must not exist yet. Otherwise the response is 412 and nothing is changed.',
    { type: 'string', const: '*' },
  ),
};

/** The parameters of the path and the query. */
export function requestParams({ params, query }: Operation): ZodOpenApiParameters {
  return { ...(params && { path: z.object(pathParameters(params)) }), ...(query && { query }) };
}

/** Each is an int64. With an example beside the schema: Dredd reads only that one. */
function pathParameters(params: NonNullable<Operation['params']>): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(params).map(([name, { schema }]) => [name, schema.meta({ param: { example: 1 } })]),
  );
}

/** The request headers that the operation reads. */
export function headerParameters(operation: Operation) {
  const conditions =
    operation.preconditions ?? (isRead(operation) && isTagged(operation) ? [ifModified] : []);
  return [
    requestId,
    ...(isRepeatable(operation) ? [idempotencyKey] : []),
    ...(operation.success.stream ? [lastEventId] : []),
    ...conditions.map((condition) => (typeof condition === 'string' ? preconditions[condition] : condition)),
  ];
}
