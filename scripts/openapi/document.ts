/**
 * Builds the OpenAPI document from the operations, schemas and errors. Used only by `npm run contract`, because the
 * service serves the committed copy.
 */
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import packageJson from '../../package.json' with { type: 'json' };
import { mediaTypes, type Operation } from '../../src/contract/operation.ts';
import { allOperations, basePath } from '../../src/contract/operations.ts';
import { buildPaths, buildTags, removeMisleadingKeywords, stringifyDocument } from './build.ts';
import { ErrorBody } from './error-body.ts';
import { bodyExamples } from './examples.ts';
import { headers } from './headers.ts';
import { introduction } from './introduction.ts';
import { buildRequestParams, headerParameters } from './parameters.ts';
import { buildResponses, errorExamples, sharedResponses } from './responses.ts';
import { webhooks } from './webhooks.ts';

/**
 * Returns the contents of `contract/openapi.json`. The document's only server URL is the path of the API version
 * (`/v1`).
 */
export function generateContract(): string {
  return stringifyDocument(openapiDocument());
}

function openapiDocument() {
  const info = {
    title: 'Animal Store API',
    version: packageJson.version,
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
      tags: buildTags(allOperations),
      security: [{ apiKey: [] }],
      paths: buildPaths(allOperations, operationObject),
      webhooks,
      components: {
        schemas: { Error: ErrorBody },
        headers,
        examples: errorExamples,
        responses: sharedResponses,
        securitySchemes: { apiKey },
      },
    },
    { override: removeMisleadingKeywords(allOperations) },
  );
}

function operationObject(operation: Operation): ZodOpenApiOperationObject {
  const { operationId, tag, summary, stability, scope, deprecation } = operation;
  return {
    operationId,
    tags: [tag.name],
    summary,
    description: describe(operation),
    'x-stability': stability,
    ...(scope && { 'x-required-scope': scope }),
    ...(deprecation && {
      deprecated: true,
      'x-deprecated-sunset': deprecation.sunset.toISOString().slice(0, 10),
    }),
    requestParams: buildRequestParams(operation),
    parameters: headerParameters(operation),
    ...requestBodyOf(operation),
    responses: buildResponses(operation),
  };
}

function describe({ description, scope, readScope }: Operation): string {
  if (scope === undefined) return description;
  const scopeNote =
    readScope === undefined ? '' : ` Without the \`${readScope}\` scope, the response is 204 without a body.`;
  return `${description}\n\nRequires a key with the \`${scope}\` scope.${scopeNote}`;
}

function requestBodyOf(operation: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const { body } = operation;
  if (body === undefined) return {};
  const { schema, types = [mediaTypes.json], optional = false } = body;
  const examples = bodyExamples(operation);
  const content = Object.fromEntries(types.map((type) => [type, { schema, examples }]));
  return { requestBody: { required: !optional, content } };
}
