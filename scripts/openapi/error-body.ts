/** Schemas of error bodies in the OpenAPI documents. */
import * as z from 'zod';
import { maxDetails } from '../../src/contract/bounds.ts';
import { clientErrors, type ErrorCode } from '../../src/contract/errors.ts';

const ErrorDetail = z
  .object({
    in: z
      .enum(['body', 'query', 'header', 'path'])
      .meta({ description: 'Part of the request that contains the mistake.' }),
    name: z
      .string()
      .meta({ description: 'Name of the field, parameter or header. Empty for the body as a whole.' }),
    message: z.string().meta({ description: 'The mistake and the expected value.' }),
  })
  .meta({ id: 'ErrorDetail', description: 'One mistake in the request.', 'x-stability': 'beta' });

/**
 * Returns the schema of error bodies with one of these codes. `id` names the schema component in the OpenAPI document.
 */
export function errorBodySchema(id: string, codes: readonly ErrorCode[]) {
  return z
    .object({
      code: z
        .enum(codes as [ErrorCode])
        .meta({ description: 'Machine-readable error code. New codes may be added.' }),
      message: z.string().meta({ description: 'Human-readable description.' }),
      status: z
        .int()
        .min(400)
        .max(599)
        .meta({ description: 'The HTTP status code of the response.', override: { format: 'int32' } }),
      details: z
        .array(ErrorDetail)
        .max(maxDetails)
        .optional()
        .meta({
          description: `The mistakes in the request, for status 400 and 415. Lists the first ${maxDetails}; \`message\` counts the rest.`,
        }),
    })
    .meta({ id, description: 'An error.' });
}

export const ErrorBody = errorBodySchema('Error', Object.keys(clientErrors) as ErrorCode[]);
