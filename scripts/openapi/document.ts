/**
 * The OpenAPI document, built from the operations, schemas and errors. It is built by `npm run contract` only;
 * the service sends the committed copy.
 */
import * as z from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiParameters,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { ErrorBody } from '../../src/contract/error-body.ts';
import { basePath, type Operation, operations } from '../../src/contract/operations.ts';
import { int64 } from '../../src/contract/values.ts';
import { newPetExamples } from './examples.ts';
import { headers } from './headers.ts';
import { introduction } from './introduction.ts';
import { errorExamples, responsesOf, sharedResponses } from './responses.ts';

const petsTag = { name: 'Pets', description: 'Animals in the store.' };

// Any int64 may be asked for, so it has none of the bounds of an id. Dredd reads the example of the parameter only.
const PetId = int64('ID of the animal to retrieve.', 1).meta({ param: { example: 1 } });

// Any value is taken, so the schema has no pattern; what does not fit is not refused but replaced.
const RequestId = z
  .string()
  .optional()
  .meta({
    description:
      'ID for this request, 1 to 64 characters of `A-Z a-z 0-9 . _ -`, returned in the response. If it is missing or ' +
      'malformed, the service generates one.',
    param: { id: 'RequestId', in: 'header', name: 'X-Request-Id', 'x-stability': 'beta' },
  });

/** The text of `contract/openapi.json`, with the path of the version as the only server. */
export function contractText(): string {
  // The library repeats what is said of a parameter in a schema that refers to another one.
  const withoutParam = (key: string, value: unknown) => (key === 'param' ? undefined : value);
  return `${JSON.stringify(openapiDocument(), withoutParam, 2)}\n`;
}

function openapiDocument() {
  const info = {
    title: 'Animal Store API',
    version: '1.0.0',
    summary: 'The animals of a pet store',
    description: introduction,
    license: { name: 'MIT', identifier: 'MIT' },
  };
  const apiKey = {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An API key, issued by the operator of the service.',
  };
  return createDocument(
    {
      openapi: '3.1.1',
      info,
      servers: [{ url: basePath, description: 'Production' }],
      tags: [petsTag],
      security: [{ apiKey: [] }],
      paths: pathsOf(Object.values(operations)),
      components: {
        schemas: { Error: ErrorBody },
        headers,
        examples: errorExamples,
        responses: sharedResponses,
        securitySchemes: { apiKey },
      },
    },
    { override: asClientsRead },
  );
}

const bodies: ReadonlySet<unknown> = new Set(Object.values(operations).map(({ body }) => body));

/** What the library adds that would mislead readers of the document. */
const asClientsRead: ZodOpenApiOverride = ({ jsonSchema, zodSchema, io }) => {
  // Responses may gain members within v1 (see `Pet`).
  if (io === 'output') delete jsonSchema.additionalProperties;
  // Generators for TypeScript take a member of a body with a default for a mandatory one; its description says it.
  if (bodies.has(zodSchema)) {
    for (const property of Object.values(jsonSchema.properties ?? {})) {
      if (typeof property === 'object') delete property.default;
    }
  }
};

function pathsOf(all: readonly Operation[]): ZodOpenApiPathsObject {
  const items = [...Map.groupBy(all, ({ path }) => path)].map(([path, those]) => [
    path,
    Object.fromEntries(
      those.map((operation) => [operation.method.toLowerCase(), operationObject(operation)]),
    ),
  ]);
  return Object.fromEntries(items);
}

function operationObject(operation: Operation): ZodOpenApiOperationObject {
  const { operationId, summary, description, stability, deprecation, body } = operation;
  return {
    operationId,
    tags: [petsTag.name],
    summary,
    description,
    'x-stability': stability,
    ...(deprecation && {
      deprecated: true,
      'x-deprecated-sunset': deprecation.sunset.toISOString().slice(0, 10),
    }),
    requestParams: requestParams(operation),
    parameters: [RequestId],
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: body, examples: newPetExamples } },
      },
    }),
    responses: responsesOf(operation),
  };
}

function requestParams({ path, query }: Operation): ZodOpenApiParameters {
  return {
    ...(path.includes('{petId}') && { path: z.object({ petId: PetId }) }),
    ...(query && { query }),
  };
}
