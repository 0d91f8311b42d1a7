/** The example bodies of the OpenAPI document and of `docs/errors.md`. */
import { type ErrorCode, type ErrorDetail, errors } from '../../src/contract/errors.ts';
import type { OperationId } from '../../src/contract/operations.ts';

const ozzy = { id: 1, name: 'Ozzy', categoryId: 1, status: 'available' };
const maple = { id: 2, name: 'Maple', categoryId: 7, status: 'sold' };

export const successExamples: Readonly<Record<OperationId, unknown>> = {
  listPets: [ozzy, maple],
  createPet: ozzy,
  getPet: ozzy,
};

export const newPetExamples = {
  required: { summary: 'Required members', value: { name: 'Ozzy', categoryId: 1 } },
  all: { summary: 'All members', value: { name: 'Maple', categoryId: 7, status: 'sold' } },
};

const limitMistake = 'must be an integer from 1 to 100, in plain decimal digits';

/** Errors that list mistakes; those of one request's data word them in their message, too. */
const mistaken: { readonly [Code in ErrorCode]?: { message?: string; details: ErrorDetail[] } } = {
  invalid_body: {
    message: 'The request body is invalid: name is required.',
    details: [{ in: 'body', name: 'name', message: 'is required' }],
  },
  invalid_parameter: {
    message: `The request is invalid: limit ${limitMistake}.`,
    details: [{ in: 'query', name: 'limit', message: limitMistake }],
  },
  invalid_cursor: {
    details: [
      {
        in: 'query',
        name: 'cursor',
        message:
          'is malformed or belongs to a different status filter; use the URL from the Link header unchanged',
      },
    ],
  },
  unsupported_media_type: {
    details: [{ in: 'header', name: 'Content-Type', message: 'must be application/json, in UTF-8' }],
  },
};

/** An error as a client may receive it. */
export function errorExample(code: ErrorCode): unknown {
  const { message, status } = errors[code];
  const { details, message: own = message } = mistaken[code] ?? {};
  return { code, message: own, status, ...(details && { details }) };
}
