import { maxPending } from '../domain/delivery.ts';
import { maxBodyBytes } from './bounds.ts';

/** The remedy for `events_expired`. */
export const eventsExpiredRemedy =
  'Get the position from X-Events-Position in the response to GET /v1/events?order=desc&limit=1, read the resources again, then follow the events after this position.';

/** Errors of the public API. A test compares this table with `docs/errors.md` and the OpenAPI document. */
export const clientErrors = {
  invalid_json: { status: 400, message: 'The request body is not valid JSON.' },
  invalid_body: { status: 400, message: 'The request body is invalid.' },
  invalid_parameter: { status: 400, message: 'A path, query or header parameter is invalid.' },
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
  insufficient_scope: {
    status: 403,
    message: 'This API key lacks a required scope.',
  },
  pet_not_found: { status: 404, message: 'There is no animal with this id.' },
  category_not_found: { status: 404, message: 'There is no category with this id.' },
  order_not_found: { status: 404, message: 'There is no order with this id.' },
  delivery_not_found: { status: 404, message: 'The webhook has no delivery with this id.' },
  webhook_not_found: { status: 404, message: 'The account has no webhook with this id.' },
  route_not_found: { status: 404, message: 'Unknown path. See /docs for the available operations.' },
  method_not_allowed: {
    status: 405,
    message: 'This path does not support this method. See the Allow header.',
  },
  status_transition_not_allowed: {
    status: 409,
    message: 'This status change is not allowed for the animal.',
  },
  pet_reserved: {
    status: 409,
    message: 'The animal is reserved by an order. Deliver or cancel the order first.',
  },
  pet_not_available: { status: 409, message: 'Only an available animal can be ordered.' },
  order_transition_not_allowed: {
    status: 409,
    message: 'The status of the order does not allow this transition.',
  },
  too_many_webhooks: {
    status: 409,
    message: 'The account has 16 webhooks, which is the limit. Delete one first.',
  },
  redelivery_in_progress: {
    status: 409,
    message:
      'Events are already being sent again to the webhook. Try again when no delivery of these events is due, or disable and enable the webhook to cancel the rest.',
  },
  event_type_not_selected: {
    status: 409,
    message: 'The webhook no longer selects events of this type. Add the type to the webhook first.',
  },
  too_many_deliveries: {
    status: 409,
    message: `The webhook has ${maxPending.toLocaleString('en')} pending deliveries. Try again when some of them have ended.`,
  },
  webhook_disabled: { status: 409, message: 'The webhook is disabled. Enable it first.' },
  idempotency_key_in_use: {
    status: 409,
    message: 'A request with this Idempotency-Key is still being processed. Retry after a second.',
  },
  operation_removed: {
    status: 410,
    message: 'This operation was removed. Use GET /v1/pets?id= instead, as /docs/guides/versioning explains.',
  },
  events_expired: {
    status: 410,
    message: `Events after this id are no longer retained. ${eventsExpiredRemedy}`,
  },
  precondition_failed: {
    status: 412,
    message:
      'The resource is not in the state that the request requires. Read it again, and decide whether the change still applies.',
  },
  body_too_large: { status: 413, message: `The request body is larger than ${maxBodyBytes} bytes.` },
  unsupported_media_type: {
    status: 415,
    message: 'The request body must be uncompressed UTF-8 JSON with a matching Content-Type.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used for another request. Use a new key for each new request.',
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
      'Too many failed authentication attempts from this address. Retry after the number of seconds in the Retry-After header.',
  },
  too_many_streams: {
    status: 429,
    message:
      'The account has 10 event streams open. Close one, or retry after the number of seconds in the Retry-After header.',
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

export const adminErrors = {
  sign_in_required: {
    status: 401,
    message: 'Sign in, or send an operator\'s token as "Authorization: Bearer <TOKEN>".',
  },
  sign_in_failed: {
    status: 401,
    message: 'The token or code is not valid. A code can be used once, within 10 minutes.',
  },
  role_insufficient: { status: 403, message: 'This requires the admin role.' },
  cross_site_request: {
    status: 403,
    message: 'This request did not come from the console. Programs must send a token instead of a cookie.',
  },
  host_unknown: {
    status: 421,
    message: 'The admin API does not accept this host name. Set ADMIN_ORIGIN to the URL that operators use.',
  },
  operator_not_found: { status: 404, message: 'There is no operator with this id.' },
  account_not_found: { status: 404, message: 'There is no account with this id.' },
  key_not_found: { status: 404, message: 'There is no key with this id.' },
  ban_not_found: { status: 404, message: 'There is no ban on this key.' },
  import_not_found: {
    status: 404,
    message: 'There is no import with this id. The service lists only the latest imports since it started.',
  },
  backup_not_found: { status: 404, message: 'There is no backup with this name.' },
  name_taken: { status: 409, message: 'Another operator has this name.' },
  session_not_found: { status: 404, message: 'You have no session with this id.' },
  operator_revoked: { status: 409, message: 'The operator has been revoked. Add a new one.' },
  key_ended: { status: 409, message: 'The key is no longer active. Issue a new one.' },
  backup_in_progress: {
    status: 409,
    message: 'Another backup is in progress. Try again when it has finished.',
  },
  backup_not_possible: {
    status: 409,
    message:
      'This service cannot create backups. Set BACKUP_FOLDER, or back up PostgreSQL with its own tools.',
  },
  backup_damaged: { status: 422, message: 'The backup is damaged.' },
  backup_failed: { status: 503, message: 'The backup cannot be created or read.' },
  import_invalid: { status: 422, message: 'The file cannot be imported.' },
  too_many_sign_ins: {
    status: 429,
    message:
      'Too many failed sign-ins from this address. Retry after the number of seconds in the Retry-After header.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

/** All errors that the service can return. The only place that maps error codes to HTTP statuses. */
export const errors = { ...clientErrors, ...adminErrors };

export type ErrorCode = keyof typeof errors;

export interface ErrorDetail {
  readonly in: 'body' | 'query' | 'header' | 'path';
  readonly name: string;
  readonly message: string;
}
