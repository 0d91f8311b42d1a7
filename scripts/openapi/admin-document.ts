/** Builds the admin API's OpenAPI document from its operations, in the same way as the public API's document. */
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import packageJson from '../../package.json' with { type: 'json' };
import { adminBasePath, allAdminOperations, requiredRole } from '../../src/contract/admin/operations.ts';
import { mediaTypes, type Operation } from '../../src/contract/operation.ts';
import { isRepeatable } from '../../src/contract/operations.ts';
import { AdminErrorBody } from './admin-errors.ts';
import { adminHeaders } from './admin-headers.ts';
import { adminIntroduction } from './admin-introduction.ts';
import { adminErrorExamples, adminResponses, adminSharedResponses } from './admin-responses.ts';
import { buildPaths, buildTags, removeMisleadingKeywords, stringifyDocument } from './build.ts';
import { buildRequestParams, operatorsIdempotencyKey, preconditions, requestId } from './parameters.ts';

/** Returns the text of `contract/admin-openapi.json`. */
export function generateAdminContract(): string {
  return stringifyDocument(adminDocument());
}

const securitySchemes = {
  token: { type: 'http', scheme: 'bearer', description: "An operator's token." },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-animal-store-session',
    description:
      'A console session, created by `createSession`. Without ADMIN_ORIGIN, the cookie is `animal-store-session-` ' +
      'and the port. Every request also needs `X-Session-Secret`. Requests that change data also need `Origin` or ' +
      '`Sec-Fetch-Site`.',
  },
} as const;

function adminDocument() {
  const info = {
    title: 'Animal Store admin API',
    version: packageJson.version,
    summary: 'For operators of an animal store',
    description: adminIntroduction,
    license: { name: 'MIT', identifier: 'MIT' },
  };
  return createDocument(
    {
      openapi: '3.1.1',
      info,
      servers: [{ url: adminBasePath, description: 'The admin listener' }],
      tags: buildTags(allAdminOperations),
      security: [{ token: [] }, { session: [] }],
      paths: buildPaths(allAdminOperations, operationObject),
      components: {
        schemas: { Error: AdminErrorBody },
        headers: adminHeaders,
        examples: adminErrorExamples,
        responses: adminSharedResponses,
        securitySchemes,
      },
    },
    { override: removeMisleadingKeywords(allAdminOperations) },
  );
}

function operationObject(operation: Operation): ZodOpenApiOperationObject {
  const { operationId, tag, summary, description } = operation;
  const role = requiredRole(operation);
  const needs = role === undefined ? 'Requires no sign-in.' : `Requires the \`${role}\` role.`;
  return {
    operationId,
    tags: [tag.name],
    summary,
    description: `${description}\n\n${needs}`,
    'x-stability': 'beta',
    ...(role === undefined ? { security: [] } : { 'x-required-role': role }),
    requestParams: buildRequestParams(operation),
    parameters: [
      requestId,
      ...(isRepeatable(operation) ? [operatorsIdempotencyKey] : []),
      ...(operation.preconditions ?? []).map((name) => preconditions[name]),
    ],
    ...requestBodyOf(operation),
    responses: adminResponses(operation),
  };
}

function requestBodyOf({ body, upload }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (upload !== undefined) {
    const content = Object.fromEntries(
      upload.types.map((type) => [type, { schema: { type: 'string' } } as const]),
    );
    return { requestBody: { required: true, description: upload.description, content } };
  }
  if (body === undefined) return {};
  const { schema, types = [mediaTypes.json], optional = false } = body;
  return {
    requestBody: {
      required: !optional,
      content: Object.fromEntries(types.map((type) => [type, { schema }])),
    },
  };
}
