/** Errors that calls reject with. Comparing `code` narrows the type of an error to its class. */
import type { ErrorCodes, ErrorDetail } from './contract.js';

/** The fields of an error. */
export interface Problem {
  readonly code: string;
  /** HTTP status; undefined if there was no response. */
  readonly status?: number | undefined;
  readonly message: string;
  readonly requestId?: string | undefined;
  /** Headers of the response. */
  readonly headers?: Headers | undefined;
  /** Number of times the request was sent. */
  readonly attempts: number;
  readonly cause?: unknown;
}

class Base<Code extends string, Status extends number | undefined> extends Error {
  /**
   * Machine-readable code. Newer versions of the service may add codes. For an unknown code, the status determines the
   * class.
   */
  readonly code: Code;
  /** HTTP status; undefined if there was no response. */
  readonly status: Status;
  /** `X-Request-Id` of the response, by which the operator can find the request in the log. */
  readonly requestId: string | undefined;
  /** Headers of the response. */
  declare readonly headers: Headers | undefined;
  /**
   * Whether the service may have applied the change, because an attempt got no conclusive response. Always false for a
   * call that changes nothing.
   */
  readonly isOutcomeUnknown: boolean = false;
  /** Number of times the request was sent; 0 if no attempt was made, because the wait would have been too long. */
  readonly attempts: number;

  constructor({ code, status, message, requestId, headers, attempts, cause }: Problem) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code as Code;
    this.status = status as Status;
    this.requestId = requestId;
    this.attempts = attempts;
    // Not enumerable, so that printed errors stay short.
    Object.defineProperty(this, 'headers', { value: headers });
  }
}

/** An invalid option or argument. Nothing was sent. `cause` is the underlying exception, if any. */
export class ArgumentError extends Base<'invalid_argument', undefined> {
  override readonly name = 'ArgumentError';
  constructor(message: string, cause?: unknown) {
    super({ code: 'invalid_argument', message, attempts: 0, cause });
  }
}

/** 400, 405, 413, 415, 422: the request is invalid. */
export class InvalidRequestError extends Base<
  ErrorCodes[400] | 'method_not_allowed' | ErrorCodes[413] | ErrorCodes[415] | ErrorCodes[422],
  number
> {
  override readonly name = 'InvalidRequestError';
  /** All validation errors, each with its location in the request. */
  readonly details: readonly ErrorDetail[];
  constructor(problem: Problem, details: readonly ErrorDetail[]) {
    super(problem);
    this.details = details;
  }
}

/** 401: the key is missing, unknown, expired or revoked. */
export class AuthenticationError extends Base<ErrorCodes[401], 401> {
  override readonly name = 'AuthenticationError';
}

/** 403: the key lacks a scope. */
export class PermissionError extends Base<ErrorCodes[403], 403> {
  override readonly name = 'PermissionError';
  /** The scope that the operation needs. */
  readonly scope: string | undefined;
  constructor(problem: Problem) {
    super(problem);
    this.scope = /scope="([^"]*)"/.exec(problem.headers?.get('www-authenticate') ?? '')?.[1];
  }
}

/** 404: the resource does not exist. */
export class NotFoundError extends Base<ErrorCodes[404] | 'route_not_found', 404> {
  override readonly name = 'NotFoundError';
}

/** 409: the resource's current state does not allow the operation. */
export class ConflictError extends Base<ErrorCodes[409], 409> {
  override readonly name = 'ConflictError';
}

/** 410: the operation was removed from the API. */
export class RemovedError extends Base<Exclude<ErrorCodes[410], 'events_expired'>, 410> {
  override readonly name = 'RemovedError';
  /** Path of the replacement operation. */
  readonly successor: string | undefined;
  constructor(problem: Problem) {
    super(problem);
    this.successor = findLink(problem.headers, 'successor-version');
  }
}

/**
 * 410: events after the position are no longer retained, so a copy based on the remaining events would be wrong. Get
 * a new position, read the resources again, then follow from that position.
 */
export class EventsExpiredError extends Base<'events_expired', 410> {
  override readonly name = 'EventsExpiredError';
}

/**
 * 412: the resource has changed since its `ETag` was read. If `isOutcomeUnknown` is true, the change may be that of an
 * earlier attempt of the same call.
 */
export class PreconditionError extends Base<ErrorCodes[412], 412> {
  override readonly name = 'PreconditionError';
}

/** 429: the rate limit is exhausted, and resets later than `maxWaitSeconds` allows. */
export class RateLimitError extends Base<Exclude<ErrorCodes[429], 'api_key_banned'>, 429> {
  override readonly name = 'RateLimitError';
  /** Seconds left until a retry may succeed; undefined if no server has reported it. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 429: the key is banned temporarily, because its clients kept sending requests after a 429. */
export class BannedError extends Base<'api_key_banned', 429> {
  override readonly name = 'BannedError';
  /** Seconds left until a retry may succeed; undefined if no server has reported it. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 503: the service was unavailable for longer than `maxWaitSeconds` allows. */
export class UnavailableError extends Base<ErrorCodes[503], 503> {
  override readonly name = 'UnavailableError';
  /** Seconds left until a retry may succeed; undefined if no server has reported it. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 500, or a response that did not come from the service, such as a proxy's error page. */
export class ServerError extends Base<ErrorCodes[500] | 'unexpected_response', number> {
  override readonly name = 'ServerError';
}

/** There was no response, because the connection failed or broke. `cause` is the runtime's error. */
export class ConnectionError extends Base<'connection_failed', undefined> {
  override readonly name = 'ConnectionError';
}

/**
 * There was no response within `timeoutMs`. For a change, `isOutcomeUnknown` is true, unless the request was not sent
 * because the client's other requests got no response.
 */
export class TimeoutError extends Base<'timeout', undefined> {
  override readonly name = 'TimeoutError';
}

/** Thrown by `verifyWebhook` for a delivery that is not authentic. Respond with 400 and ignore the delivery. */
export class WebhookError extends Base<'webhook_rejected', undefined> {
  override readonly name = 'WebhookError';
  constructor(message: string, cause?: unknown) {
    super({ code: 'webhook_rejected', message, attempts: 0, cause });
  }
}

/** Any error thrown by this client. Compare `code` to narrow its type. */
export type AnimalStoreError =
  | ArgumentError
  | InvalidRequestError
  | AuthenticationError
  | PermissionError
  | NotFoundError
  | ConflictError
  | RemovedError
  | EventsExpiredError
  | PreconditionError
  | RateLimitError
  | BannedError
  | UnavailableError
  | ServerError
  | ConnectionError
  | TimeoutError
  | WebhookError;

/** All error codes of the API and the client. */
export type ErrorCode = AnimalStoreError['code'];

/**
 * The base class of all errors thrown by this client. `instanceof` narrows to the union, and comparing `code` narrows
 * further.
 */
export const AnimalStoreError = Base as unknown as abstract new (problem: never) => AnimalStoreError;

/** Returns the target of the `Link` with this relation (RFC 8288); undefined if there is none. */
export function findLink(headers: Headers | undefined, relation: string): string | undefined {
  const links = (headers?.get('link') ?? '').matchAll(/<([^>]*)>((?:[^,"]|"[^"]*")*)/g);
  for (const [, target, parameters = ''] of links) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(' ').includes(relation)) return target;
  }
  return undefined;
}
