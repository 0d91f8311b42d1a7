/** Errors of calls. Each class is a kind of error, and `code` narrows to it. */
import type { ErrorCodes, ErrorDetail } from './contract.js';

/** The contents of an error. */
export interface Problem {
  readonly code: string;
  /** HTTP status; undefined without a response. */
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
  /** Machine-readable code. New versions of the service may add codes, whose class depends on the status. */
  readonly code: Code;
  /** HTTP status; undefined without a response. */
  readonly status: Status;
  /** `X-Request-Id` of the response, with which the operator can find it in the log. */
  readonly requestId: string | undefined;
  /** Headers of the response. */
  declare readonly headers: Headers | undefined;
  /** Number of times the request was sent; 0 when the wait would have been too long. */
  readonly attempts: number;

  constructor({ code, status, message, requestId, headers, attempts, cause }: Problem) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code as Code;
    this.status = status as Status;
    this.requestId = requestId;
    this.attempts = attempts;
    // Not enumerable, to keep printed errors short.
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

/** 400, 405, 413, 415, 422: the request has a mistake. */
export class InvalidRequestError extends Base<
  ErrorCodes[400] | 'method_not_allowed' | ErrorCodes[413] | ErrorCodes[415] | ErrorCodes[422],
  number
> {
  override readonly name = 'InvalidRequestError';
  /** Every mistake, with its location. */
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

/** 404: there is no such resource. */
export class NotFoundError extends Base<ErrorCodes[404] | 'route_not_found', 404> {
  override readonly name = 'NotFoundError';
}

/** 409: the resource's state does not allow it. */
export class ConflictError extends Base<ErrorCodes[409], 409> {
  override readonly name = 'ConflictError';
}

/** 410: the operation was removed. */
export class RemovedError extends Base<Exclude<ErrorCodes[410], 'events_expired'>, 410> {
  override readonly name = 'RemovedError';
  /** Path of the operation that replaces it. */
  readonly successor: string | undefined;
  constructor(problem: Problem) {
    super(problem);
    this.successor = linkOf(problem.headers, 'successor-version');
  }
}

/**
 * 410: events after the position are missing, so a copy built from them would be wrong. Read the resources
 * again, then follow.
 */
export class EventsExpiredError extends Base<'events_expired', 410> {
  override readonly name = 'EventsExpiredError';
}

/** 412: the resource was changed since its `ETag` was read. */
export class PreconditionError extends Base<ErrorCodes[412], 412> {
  override readonly name = 'PreconditionError';
}

/** 429: the limit is used up for longer than `maxWaitSeconds`. */
export class RateLimitError extends Base<Exclude<ErrorCodes[429], 'api_key_banned'>, 429> {
  override readonly name = 'RateLimitError';
  /** Seconds left to wait; undefined if no server sent a `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 429: the key is banned for a while, because programs kept sending requests after 429. */
export class BannedError extends Base<'api_key_banned', 429> {
  override readonly name = 'BannedError';
  /** Seconds left to wait; undefined if no server sent a `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 503: the service is unavailable for longer than `maxWaitSeconds`. */
export class UnavailableError extends Base<ErrorCodes[503], 503> {
  override readonly name = 'UnavailableError';
  /** Seconds left to wait; undefined if no server sent a `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 500, or a response that did not come from the service, such as a proxy's page. */
export class ServerError extends Base<ErrorCodes[500] | 'unexpected_response', number> {
  override readonly name = 'ServerError';
}

/** No response: the connection failed or broke. `cause` is the runtime's error. */
export class ConnectionError extends Base<'connection_failed', undefined> {
  override readonly name = 'ConnectionError';
}

/** No response within `timeoutMs`. */
export class TimeoutError extends Base<'timeout', undefined> {
  override readonly name = 'TimeoutError';
}

/** A delivery that `verifyWebhook` rejects. Respond with 400 and ignore it. */
export class WebhookError extends Base<'webhook_rejected', undefined> {
  override readonly name = 'WebhookError';
  constructor(message: string, cause?: unknown) {
    super({ code: 'webhook_rejected', message, attempts: 0, cause });
  }
}

/** Every error of this client; `code` narrows it. */
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

/** All error codes, including those of the client. */
export type ErrorCode = AnimalStoreError['code'];

/** The class of all errors of this client. `instanceof` narrows to the union, which `code` narrows further. */
export const AnimalStoreError = Base as unknown as abstract new (problem: never) => AnimalStoreError;

/** The target of a link (RFC 8288). */
export function linkOf(headers: Headers | undefined, relation: string): string | undefined {
  const links = (headers?.get('link') ?? '').matchAll(/<([^>]*)>((?:[^,"]|"[^"]*")*)/g);
  for (const [, target, parameters = ''] of links) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(' ').includes(relation)) return target;
  }
  return undefined;
}
