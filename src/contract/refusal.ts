import type { ErrorCode, ErrorDetail } from './errors.ts';

/** A request that an operation declines. Knows nothing of HTTP. It is no `Error`, because a refusal needs no stack. */
export class Refusal {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** A sentence that says more than the code's own; undefined for the code's own. */
  readonly message: string | undefined;
  readonly cause: unknown;

  constructor(code: ErrorCode, more: { details?: ErrorDetail[]; message?: string; cause?: unknown } = {}) {
    this.code = code;
    this.details = more.details ?? [];
    this.message = more.message;
    this.cause = more.cause;
  }
}
