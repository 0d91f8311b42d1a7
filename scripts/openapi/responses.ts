/** Derives the responses in the OpenAPI document from the operation definitions and the error table. */
import type { oas31, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { type ErrorCode, errors } from '../../src/contract/errors.ts';
import { eventFrame, reconnectAfterMs } from '../../src/contract/events.ts';
import type { SuccessStatus } from '../../src/contract/operation.ts';
import { isRead, type Operation } from '../../src/contract/operation.ts';
import {
  allOperations,
  commonErrors,
  hasEntityTag,
  isRepeatable,
  possibleErrors,
} from '../../src/contract/operations.ts';
import { errorExample } from './error-examples.ts';
import { successExample } from './examples.ts';
import type { headers } from './headers.ts';

type ErrorStatus = (typeof errors)[ErrorCode]['status'];
type HeaderRefs = Record<string, oas31.ReferenceObject>;

const meanings: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is invalid',
  401: 'Missing or invalid API key',
  403: 'The API key lacks a required scope',
  404: 'Not found',
  405: 'The path does not support the method',
  409: 'The current state does not allow the operation',
  410: 'The resource is no longer available',
  412: 'A precondition failed',
  413: 'The request body is too large',
  415: 'The request body is not UTF-8 JSON',
  421: 'The admin API is not available at this host',
  422: 'The Idempotency-Key was used for another request',
  429: 'A limit is exceeded or the key is banned',
  500: 'Internal error',
  503: 'The service is temporarily unavailable',
};

const beta = { 'x-stability': 'beta' } as const;

/** Names of the components for shared responses. */
const sharedNames = new Map<ErrorStatus, string>([
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [429, 'TooManyRequests'],
  [500, 'InternalServerError'],
  [503, 'ServiceUnavailable'],
]);

/** Statuses that the specification lists for every operation (section 7). */
const specifiedForAll: readonly number[] = [401, 429];

export const sharedResponses: Record<string, ZodOpenApiResponseObject> = Object.fromEntries(
  [...sharedNames].map(([status, name]) => {
    const response = errorResponse(status, sharedCodes(status), undefined);
    return [name, { ...response, ...(!specifiedForAll.includes(status) && beta) }];
  }),
);

/** Examples of every error that an operation can return, by code. */
export const errorExamples = Object.fromEntries(
  [...new Set(allOperations.flatMap(possibleErrors))].map((code) => [code, { value: errorExample(code) }]),
);

/** Returns all responses of an operation, by status. */
export function buildResponses(operation: Operation): ZodOpenApiResponsesObject {
  const responses: Record<number, ZodOpenApiResponseObject | oas31.ReferenceObject> = {};
  for (const [text, description] of Object.entries(operation.success.descriptions)) {
    const status = Number(text) as SuccessStatus;
    responses[status] = successResponse(operation, status, description);
  }
  if (operation.readScope !== undefined) {
    responses[204] = {
      description: `Success. The key lacks the \`${operation.readScope}\` scope, so the response has no body.`,
      headers: {
        ...commonHeaders(204, operation),
        ...(isRepeatable(operation) && refs('Idempotent-Replayed')),
      },
    };
  }
  if (isRead(operation) && hasEntityTag(operation)) {
    responses[304] = {
      description: 'Not modified: `If-None-Match` contains the current entity tag.',
      headers: { ...commonHeaders(304, operation), ...successHeaders(operation) },
      ...markIfAdded(operation, 304),
    };
  }
  for (const [status, codes] of Map.groupBy(possibleErrors(operation), (code) => errors[code].status)) {
    const name = sharedNameOf(operation, status, codes);
    responses[status] =
      name === undefined
        ? { ...errorResponse(status, codes, operation), ...markIfAdded(operation, status) }
        : { $ref: `#/components/responses/${name}` };
  }
  return responses;
}

/**
 * Returns the name of the shared component, if one applies. Responses of deprecated operations are separate because
 * they have additional headers.
 */
function sharedNameOf(
  { deprecation }: Operation,
  status: ErrorStatus,
  codes: readonly ErrorCode[],
): string | undefined {
  if (deprecation !== undefined) return undefined;
  return sharedCodes(status).join() === codes.join() ? sharedNames.get(status) : undefined;
}

function sharedCodes(status: ErrorStatus): ErrorCode[] {
  const common: readonly ErrorCode[] = [...commonErrors, 'insufficient_scope'];
  return common.filter((code) => errors[code].status === status);
}

function successResponse(
  operation: Operation,
  status: SuccessStatus,
  description: string,
): ZodOpenApiResponseObject {
  const { schema, stream } = operation.success;
  const content = stream
    ? { 'text/event-stream': { schema: { type: 'string' as const }, examples: streamExamples } }
    : schema && {
        'application/json': { schema, examples: { success: { value: successExample(operation) } } },
      };
  return {
    description,
    headers: { ...commonHeaders(status, operation), ...successHeaders(operation) },
    ...(content && { content }),
  };
}

const streamExamples = {
  success: {
    value: `retry: ${reconnectAfterMs}\n\n${eventFrame({
      id: 41n,
      type: 'category.created',
      data: '{"id":1,"name":"Dogs"}',
      accountId: null,
      createdAt: Date.UTC(2026, 10, 22, 9, 30),
    })}:\n\n`,
  },
};

/** Returns the headers of a successful response and of the corresponding 304. */
function successHeaders(operation: Operation): HeaderRefs {
  const { success, paginated, feed, deprecation } = operation;
  return {
    ...(success.schema && hasEntityTag(operation) && refs('ETag')),
    ...(success.location && refs('Location')),
    ...(isRepeatable(operation) && refs('Idempotent-Replayed')),
    ...(paginated && !deprecation && { Link: ref('PageLinks') }),
    ...(feed && { Link: ref('EventLink'), ...refs('X-Events-Position') }),
    ...(success.stream && { 'Cache-Control': ref('StreamNoStore'), ...refs('X-Accel-Buffering') }),
  };
}

function errorResponse(
  status: ErrorStatus,
  codes: readonly ErrorCode[],
  operation: Operation | undefined,
): ZodOpenApiResponseObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return {
    description: `${meanings[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: { ...commonHeaders(status, operation), ...errorHeaders(status, codes, operation) },
    content: { 'application/json': { schema: errorOf(codes), examples } },
  };
}

/** Restricts `Error` to the codes of one response, so that generated clients get a union type that they can narrow. */
function errorOf(codes: readonly ErrorCode[]): oas31.SchemaObject {
  const code = { type: 'string' as const, enum: [...codes] };
  return { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code } }] };
}

/** Returns the headers of an error response with this status. */
function errorHeaders(
  status: ErrorStatus,
  codes: readonly ErrorCode[],
  operation: Operation | undefined,
): HeaderRefs {
  return {
    ...(status === 415 && refs('Accept-Encoding')),
    ...(status === 415 && operation?.method === 'PATCH' && refs('Accept-Patch')),
    ...((status === 429 || status === 503) && refs('Retry-After')),
    ...(codes.includes('idempotency_key_in_use') && { 'Retry-After': ref('RetryAfterInUse') }),
    ...(status === 401 && refs('WWW-Authenticate')),
    ...(status === 403 && { 'WWW-Authenticate': ref('ScopeChallenge') }),
    ...(!operation?.deprecation && { Link: ref('HelpLink') }),
  };
}

/** Returns the headers that every response of the operation has. */
function commonHeaders(status: number, operation: Operation | undefined): HeaderRefs {
  return {
    ...refs('X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'),
    'Cache-Control': ref(status < 400 ? 'CacheControl' : 'NoStore'),
    ...refs('X-Content-Type-Options'),
    ...(status !== 401 && refs('RateLimit', 'RateLimit-Policy')),
    ...(operation?.deprecation && { ...refs('Deprecation', 'Sunset'), Link: ref('DeprecationLinks') }),
  };
}

function refs(...names: (keyof typeof headers)[]): HeaderRefs {
  return Object.fromEntries(names.map((name) => [name, ref(name)]));
}

function ref(name: keyof typeof headers): oas31.ReferenceObject {
  return { $ref: `#/components/headers/${name}` };
}

/**
 * Marks a response of a stable operation as beta if the specification does not define it. The specification defines
 * successful responses, errors specific to the operation, 400 for operations with a request body, and common errors. If
 * an operation is not stable, the operation itself is marked instead.
 */
function markIfAdded({ stability, errors: own, body }: Operation, status: number): typeof beta | undefined {
  if (stability !== 'stable' || specifiedForAll.includes(status)) return undefined;
  const isOwn = own.some((code) => errors[code].status === status) || (body !== undefined && status === 400);
  return isOwn ? undefined : beta;
}
