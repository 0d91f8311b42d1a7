/** Derives the responses in the admin API's OpenAPI document from the operation definitions and the error table. */
import type { oas31, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { allAdminOperations, publicOperations } from '../../src/contract/admin/operations.ts';
import { type ErrorCode, errors } from '../../src/contract/errors.ts';
import type { Operation, SuccessStatus } from '../../src/contract/operation.ts';
import { hasEntityTag, isRepeatable } from '../../src/contract/operations.ts';
import { possibleAdminErrors } from './admin-errors.ts';
import type { adminHeaders } from './admin-headers.ts';
import { errorExample } from './error-examples.ts';

type HeaderRefs = Record<string, oas31.ReferenceObject>;

const meanings: Readonly<Record<number, string>> = {
  400: 'The request is invalid',
  401: 'Not signed in',
  403: 'The operator lacks the role, or the request did not come from the console',
  404: 'Not found',
  409: 'The current state does not allow the operation',
  410: 'The resource is no longer available',
  412: 'A precondition failed',
  413: 'The request body is too large',
  415: 'The operation does not accept this media type',
  421: 'The admin API is not available at this host',
  422: 'The file or backup cannot be used, or the Idempotency-Key was used for another request',
  429: 'Too many failed sign-ins',
  500: 'Internal error',
  503: 'The service is temporarily unavailable',
};

/** Examples of every error that an operation can return, by code. */
export const adminErrorExamples = Object.fromEntries(
  [...new Set(allAdminOperations.flatMap(possibleAdminErrors))].map((code) => [
    code,
    { value: errorExample(code) },
  ]),
);

/** Names of the components for shared responses, by status and codes. */
const sharedNames = new Map<string, string>([
  ['400 invalid_parameter', 'BadRequest'],
  ['401 sign_in_required sign_in_failed', 'Unauthorized'],
  ['403 cross_site_request', 'CrossSite'],
  ['403 role_insufficient cross_site_request', 'Forbidden'],
  ['413 body_too_large', 'ContentTooLarge'],
  ['421 host_unknown', 'MisdirectedRequest'],
  ['429 too_many_sign_ins', 'TooManyRequests'],
  ['500 internal_error', 'InternalServerError'],
  ['503 service_unavailable', 'ServiceUnavailable'],
]);

export const adminSharedResponses: Record<string, ZodOpenApiResponseObject> = Object.fromEntries(
  [...sharedNames].map(([key, name]) => {
    const [status, ...codes] = key.split(' ');
    return [name, errorResponse(Number(status), codes as ErrorCode[], undefined)];
  }),
);

/** Returns all responses of an operation, by status. */
export function adminResponses(operation: Operation): ZodOpenApiResponsesObject {
  const responses: Record<number, ZodOpenApiResponseObject | oas31.ReferenceObject> = {};
  for (const [text, description] of Object.entries(operation.success.descriptions)) {
    responses[Number(text)] = successResponse(operation, Number(text) as SuccessStatus, description);
  }
  for (const [status, codes] of Map.groupBy(possibleAdminErrors(operation), (code) => errors[code].status)) {
    const name = sharedNames.get(`${status} ${codes.join(' ')}`);
    responses[status] =
      name === undefined
        ? errorResponse(status, codes, operation)
        : { $ref: `#/components/responses/${name}` };
  }
  return responses;
}

function successResponse(
  operation: Operation,
  status: SuccessStatus,
  description: string,
): ZodOpenApiResponseObject {
  const { operationId, success, paginated, feed } = operation;
  const { schema, lines } = success;
  const type = lines ? 'application/x-ndjson' : 'application/json';
  const setsCookie = operationId === 'createSession' || operationId === 'deleteSession';
  return {
    description,
    headers: {
      ...refs('X-Request-Id', 'Cache-Control'),
      ...(status === 201 && success.location && refs('Location')),
      ...(schema && (success.tagged || isShop(operationId)) && refs('ETag')),
      ...(paginated && { Link: ref('PageLinks') }),
      ...(feed && { Link: ref('EventLink'), ...refs('X-Events-Position') }),
      ...(isRepeatable(operation) && refs('Idempotent-Replayed')),
      ...(setsCookie && refs('Set-Cookie')),
    },
    ...(schema && { content: { [type]: { schema } } }),
    ...(success.file && { content: { 'application/octet-stream': { schema: { type: 'string' } } } }),
  };
}

/** Whether the operation is shared with the public API, in which case its response has an entity tag. */
function isShop(operationId: string): boolean {
  const row = new Map<string, Operation>(Object.entries(publicOperations)).get(operationId);
  return row !== undefined && hasEntityTag(row);
}

function errorResponse(
  status: number,
  codes: readonly ErrorCode[],
  operation: Operation | undefined,
): ZodOpenApiResponseObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  const code = { type: 'string' as const, enum: [...codes] };
  const schema: oas31.SchemaObject = {
    allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code } }],
  };
  return {
    description: `${meanings[status]}: ${codes.map((each) => `\`${each}\``).join(', ')}.`,
    headers: {
      ...refs('X-Request-Id', 'Cache-Control'),
      ...(status === 401 && refs('WWW-Authenticate')),
      ...(status === 415 && refs('Accept-Encoding')),
      ...(status === 415 && operation?.method === 'PATCH' && refs('Accept-Patch')),
      ...((status === 429 || status === 503) && refs('Retry-After')),
    },
    content: { 'application/json': { schema, examples } },
  };
}

function refs(...names: (keyof typeof adminHeaders)[]): HeaderRefs {
  return Object.fromEntries(names.map((name) => [name, ref(name)]));
}

function ref(name: keyof typeof adminHeaders): oas31.ReferenceObject {
  return { $ref: `#/components/headers/${name}` };
}
