import type { ErrorCode, ErrorDetail } from './errors.ts';

interface RefusalParts {
  readonly details?: readonly ErrorDetail[];
  readonly message?: string | undefined;
  readonly cause?: unknown;
  readonly scope?: string | undefined;
}

/** A request that an operation declines. Knows nothing of HTTP. It is no `Error`, because a refusal needs no stack. */
export class Refusal {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** A sentence that says more than the code's own; undefined for the code's own. */
  readonly message: string | undefined;
  readonly cause: unknown;
  /** The scopes that would allow it, separated by spaces; undefined for that of the operation. */
  readonly scope: string | undefined;

  constructor(code: ErrorCode, { details = [], message, cause, scope }: RefusalParts = {}) {
    this.code = code;
    this.details = details;
    this.message = message;
    this.cause = cause;
    this.scope = scope;
  }
}
