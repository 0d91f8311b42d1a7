/** What a call rejects with. Each class is a kind of error; `code` tells them apart for the compiler, too. */
import type { ErrorCodes, ErrorDetail } from './contract.js';

/** What an error says. */
export interface Problem {
  readonly code: string;
  /** HTTP status; undefined when there was no answer. */
  readonly status?: number | undefined;
  readonly message: string;
  readonly requestId?: string | undefined;
  /** Headers of the answer. */
  readonly headers?: Headers | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  readonly cause?: unknown;
}

class Base<Code extends string, Status extends number | undefined> extends Error {
  /** Machine-readable code. An unknown one may come with a new version of the service: then the class goes by the status. */
  readonly code: Code;
  /** HTTP status; undefined when there was no answer. */
  readonly status: Status;
  /** The answer's `X-Request-Id`, by which the operator finds it in the log. */
  readonly requestId: string | undefined;
  /** Headers of the answer. */
  declare readonly headers: Headers | undefined;
  /** How often the request was sent; 0 when the client knew that it had to wait too long. */
  readonly attempts: number;

  constructor({ code, status, message, requestId, headers, attempts, cause }: Problem) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code as Code;
    this.status = status as Status;
    this.requestId = requestId;
    this.attempts = attempts;
    // Out of sight, so that a printed error is short.
    Object.defineProperty(this, 'headers', { value: headers });
  }
}

/** 400, 405, 413, 415, 422: the request has a mistake. */
export class InvalidRequestError extends Base<
  ErrorCodes[400] | 'method_not_allowed' | ErrorCodes[413] | ErrorCodes[415] | ErrorCodes[422],
  number
> {
  override readonly name = 'InvalidRequestError';
  /** Every mistake, with its place. */
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
export class RemovedError extends Base<ErrorCodes[410], 410> {
  override readonly name = 'RemovedError';
  /** Path of what took its place. */
  readonly successor: string | undefined;
  constructor(problem: Problem) {
    super(problem);
    this.successor = linkOf(problem.headers, 'successor-version');
  }
}

/** 412: the resource was changed since its `ETag` was read. */
export class PreconditionError extends Base<ErrorCodes[412], 412> {
  override readonly name = 'PreconditionError';
}

/** 429: the limit is used up for longer than the call may wait. */
export class RateLimitError extends Base<Exclude<ErrorCodes[429], 'api_key_banned'>, 429> {
  override readonly name = 'RateLimitError';
  /** Seconds left to wait. */
  readonly retryAfterSeconds: number;
  constructor(problem: Problem, retryAfterSeconds: number) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 429: the key is banned for a while, because programs kept sending requests after 429. */
export class BannedError extends Base<'api_key_banned', 429> {
  override readonly name = 'BannedError';
  /** Seconds left to wait. */
  readonly retryAfterSeconds: number;
  constructor(problem: Problem, retryAfterSeconds: number) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 503: the service cannot work now, for longer than the call may wait. */
export class UnavailableError extends Base<ErrorCodes[503], 503> {
  override readonly name = 'UnavailableError';
  /** Seconds left to wait. */
  readonly retryAfterSeconds: number;
  constructor(problem: Problem, retryAfterSeconds: number) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 500 and its like, or an answer that is not the service's. */
export class ServerError extends Base<ErrorCodes[500] | 'unexpected_response', number> {
  override readonly name = 'ServerError';
}

/** No answer: the connection failed or broke. `cause` says how. */
export class ConnectionError extends Base<'connection_failed', undefined> {
  override readonly name = 'ConnectionError';
}

/** No answer within `timeoutMs`. */
export class TimeoutError extends Base<'timeout', undefined> {
  override readonly name = 'TimeoutError';
}

/** Every error of this client; `code` narrows it. */
export type AnimalStoreError =
  | InvalidRequestError
  | AuthenticationError
  | PermissionError
  | NotFoundError
  | ConflictError
  | RemovedError
  | PreconditionError
  | RateLimitError
  | BannedError
  | UnavailableError
  | ServerError
  | ConnectionError
  | TimeoutError;

/** What all errors of this client are instances of. `instanceof` narrows to the union, which `code` narrows further. */
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
