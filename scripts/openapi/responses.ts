/** The responses of each operation in the OpenAPI document, derived from the tables of operations and errors. */
import type { oas31, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { type ErrorCode, errors } from '../../src/contract/errors.ts';
import { commonErrors, type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import { errorExample, successExamples } from './examples.ts';
import type { headers } from './headers.ts';

type ErrorStatus = (typeof errors)[ErrorCode]['status'];

/** What decides which headers the responses of an operation carry. */
type Traits = Pick<Operation, 'paginated' | 'deprecation'>;

/** The statuses the specification gives each operation (sections 4 and 7); the others are additions. */
const specified: Readonly<Record<OperationId, readonly number[]>> = {
  listPets: [200, 401, 429],
  createPet: [201, 400, 401, 429],
  getPet: [200, 401, 404, 429],
};

const meanings: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is invalid',
  401: 'Missing or invalid API key',
  404: 'Animal not found',
  405: 'The path does not support the method',
  410: 'The operation was removed',
  413: 'The request body is too large',
  415: 'The request body is not UTF-8 JSON',
  429: 'A limit is exceeded or the key is banned',
  500: 'Internal error',
  503: 'The service is temporarily unavailable',
};

/** Components for what operations answer alike. */
const sharedNames = {
  401: 'Unauthorized',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
} as const;

type SharedStatus = keyof typeof sharedNames;

export const sharedResponses: Record<string, ZodOpenApiResponseObject> = Object.fromEntries(
  Object.entries(sharedNames).map(([key, name]) => {
    const status = Number(key) as SharedStatus;
    const codes = commonErrors.filter((code) => errors[code].status === status);
    return [name, { ...errorResponse(status, codes, {}), ...markIfAdded('listPets', status) }];
  }),
);

/** An example of every error an operation answers with, by code. */
export const errorExamples = Object.fromEntries(
  [...new Set(Object.values(operations).flatMap(codesOf))].map((code) => [
    code,
    { value: errorExample(code) },
  ]),
);

/** Every response of the operation, by status. */
export function responsesOf(operation: Operation): ZodOpenApiResponsesObject {
  const { operationId, deprecation, success } = operation;
  const responses: Record<number, ZodOpenApiResponseObject | oas31.ReferenceObject> = {
    [success.status]: successResponse(operation),
  };
  for (const [status, codes] of Map.groupBy(codesOf(operation), (code) => errors[code].status)) {
    const isShared = status in sharedNames && deprecation === undefined;
    responses[status] = isShared
      ? { $ref: `#/components/responses/${sharedNames[status as SharedStatus]}` }
      : { ...errorResponse(status, codes, operation), ...markIfAdded(operationId, status) };
  }
  return responses;
}

function codesOf({ errors: own }: Operation): ErrorCode[] {
  return [...own, ...commonErrors];
}

function successResponse(operation: Operation): ZodOpenApiResponseObject {
  const { status, schema, description } = operation.success;
  const examples = { success: { value: successExamples[operation.operationId] } };
  return {
    description,
    headers: headersOf(status, operation),
    content: { 'application/json': { schema, examples } },
  };
}

function errorResponse(
  status: ErrorStatus,
  codes: readonly ErrorCode[],
  traits: Traits,
): ZodOpenApiResponseObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return {
    description: `${meanings[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(status, traits),
    content: { 'application/json': { schema: errorOf(codes), examples } },
  };
}

/** An Error with the codes of one response only, so that generated clients have a union they can narrow. */
function errorOf(codes: readonly ErrorCode[]): oas31.SchemaObject {
  const code = { type: 'string' as const, enum: [...codes] };
  return { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code } }] };
}

function headersOf(
  status: number,
  { paginated, deprecation }: Traits,
): Record<string, oas31.ReferenceObject> {
  return {
    ...refs('X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'),
    'Cache-Control': ref(status < 400 ? 'CacheControl' : 'NoStore'),
    ...refs('X-Content-Type-Options'),
    ...(status === 415 && refs('Accept-Encoding')),
    ...(status === 401 ? refs('WWW-Authenticate') : refs('RateLimit', 'RateLimit-Policy')),
    ...((status === 429 || status === 503) && refs('Retry-After')),
    ...(paginated && status === 200 && { Link: ref('PageLinks') }),
    ...(status >= 400 && { Link: ref('HelpLink') }),
    ...(deprecation && { ...refs('Deprecation', 'Sunset'), Link: ref('DeprecationLinks') }),
  };
}

function refs(...names: (keyof typeof headers)[]): Record<string, oas31.ReferenceObject> {
  return Object.fromEntries(names.map((name) => [name, ref(name)]));
}

function ref(name: keyof typeof headers): oas31.ReferenceObject {
  return { $ref: `#/components/headers/${name}` };
}

function markIfAdded(operationId: OperationId, status: number): { 'x-stability'?: 'beta' } {
  return specified[operationId].includes(status) ? {} : { 'x-stability': 'beta' };
}
