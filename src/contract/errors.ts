import { maxBodyBytes } from './bounds.ts';

/**
 * Every error the service answers with, and the only place that knows which HTTP status belongs to which code. `docs/errors.md` and the OpenAPI document are held to this table by a test.
 */
export const errors = {
  invalid_json: { status: 400, message: 'The request body is not valid JSON.' },
  invalid_body: { status: 400, message: 'The request body is not a valid animal.' },
  invalid_parameter: { status: 400, message: 'A query parameter is invalid.' },
  invalid_cursor: {
    status: 400,
    message:
      'The cursor is malformed or belongs to a different query. Use the URL from the Link header unchanged.',
  },
  missing_api_key: {
    status: 401,
    message: 'An API key is required. Send it as "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: { status: 401, message: 'The API key is not valid.' },
  pet_not_found: { status: 404, message: 'There is no animal with this id.' },
  route_not_found: { status: 404, message: 'Unknown path. See /docs for the available operations.' },
  method_not_allowed: {
    status: 405,
    message: 'This path does not support this method. See the Allow header.',
  },
  operation_removed: {
    status: 410,
    message: 'This operation was removed. Use GET /pets with the status filter.',
  },
  body_too_large: { status: 413, message: `The request body is larger than ${maxBodyBytes} bytes.` },
  unsupported_media_type: {
    status: 415,
    message: 'The request body must be uncompressed UTF-8 JSON, sent with "Content-Type: application/json".',
  },
  rate_limit_exceeded: {
    status: 429,
    message:
      'The request limit per minute is exceeded. Retry after the number of seconds in the Retry-After header.',
  },
  daily_quota_exceeded: {
    status: 429,
    message:
      'The request limit per day is exceeded. Retry after the number of seconds in the Retry-After header.',
  },
  api_key_banned: {
    status: 429,
    message:
      'This API key is temporarily banned because it kept sending requests after 429. Retry after the number of seconds in the Retry-After header.',
  },
  too_many_failed_authentications: {
    status: 429,
    message:
      'Too many failed authentications from this address. Retry after the number of seconds in the Retry-After header.',
  },
  internal_error: {
    status: 500,
    message: 'An internal error occurred. It is logged with the X-Request-Id of this response.',
  },
  service_unavailable: {
    status: 503,
    message:
      'The service is temporarily unavailable. Nothing was changed. Retry after the number of seconds in the Retry-After header.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errors;

/** One mistake in a request: where it is and what would be right. */
export interface ErrorDetail {
  readonly in: 'body' | 'query' | 'header';
  readonly name: string;
  readonly message: string;
}
