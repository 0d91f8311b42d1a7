import type { ErrorCode, ErrorDetail } from './errors.ts';

/**
 * A request the service understood and declines, thrown by operations. It carries no HTTP: only
 * `contract/errors.ts` knows which status a code has. It is no `Error`, for a refusal needs no stack.
 */
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
