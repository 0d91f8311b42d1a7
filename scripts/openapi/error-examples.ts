/** Error examples for the OpenAPI document and `docs/errors.md`. */

import { cursorError } from '../../src/contract/cursor.ts';
import { type ErrorCode, type ErrorDetail, errors, eventsExpiredRemedy } from '../../src/contract/errors.ts';

const limitMistake = 'must be an integer from 1 to 100, in plain decimal digits';

/** Examples of errors whose message depends on the request, or that report several problems. */
const particular: {
  readonly [Code in ErrorCode]?: { readonly message?: string; readonly details?: readonly ErrorDetail[] };
} = {
  invalid_body: {
    message: 'The request body is invalid: name is required.',
    details: [{ in: 'body', name: 'name', message: 'is required' }],
  },
  invalid_parameter: {
    message: `The request is invalid: limit ${limitMistake}.`,
    details: [{ in: 'query', name: 'limit', message: limitMistake }],
  },
  invalid_cursor: { details: [cursorError] },
  unsupported_media_type: {
    details: [{ in: 'header', name: 'Content-Type', message: 'must be application/json, in UTF-8' }],
  },
  insufficient_scope: { message: 'This API key needs the scope pets:write.' },
  status_transition_not_allowed: {
    message: 'The animal is "sold" and cannot become "pending"; it can become "available".',
  },
  pet_reserved: {
    message: 'The animal is reserved by order 1, which is placed. Deliver or cancel the order first.',
  },
  pet_not_available: {
    message: 'The animal is "pending". Only an available animal can be ordered.',
  },
  order_transition_not_allowed: {
    message: 'The order is placed and cannot be delivered. Allowed: approve, cancel.',
  },
  events_expired: {
    message: `The events directly after 7 are no longer retained; the next id is 42. ${eventsExpiredRemedy}`,
  },
  precondition_failed: {
    message:
      'The resource is not in the state that the request requires: its current entity tag is not in If-Match. Read it ' +
      'again, and decide whether the change still applies.',
  },
};

/** Returns an example of the error body that a client receives. */
export function errorExample(code: ErrorCode): unknown {
  const { message, status } = errors[code];
  const { details, message: own = message } = particular[code] ?? {};
  return { code, message: own, status, ...(details && { details }) };
}
