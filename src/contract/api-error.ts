import type { ErrorCode, ErrorDetail } from './errors.ts';

interface ApiErrorOptions {
  readonly details?: readonly ErrorDetail[];
  readonly message?: string | undefined;
  readonly cause?: unknown;
  readonly scope?: string | undefined;
}

/** An error response, independent of HTTP. Not a subclass of `Error`, because it needs no stack trace. */
export class ApiError {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** Specific message. Defaults to the message of the code. */
  readonly message: string | undefined;
  readonly cause: unknown;
  /** Missing scopes, separated by spaces; only for `insufficient_scope`. */
  readonly scope: string | undefined;

  constructor(code: ErrorCode, { details = [], message, cause, scope }: ApiErrorOptions = {}) {
    this.code = code;
    this.details = details;
    this.message = message;
    this.cause = cause;
    this.scope = scope;
  }
}
