import type { Scope } from '../domain/scope.ts';
import type { ErrorCode, ErrorDetail } from './errors.ts';

interface More {
  readonly details?: ErrorDetail[];
  readonly message?: string;
  readonly cause?: unknown;
  readonly scope?: Scope;
}

/** A request that an operation declines. Knows nothing of HTTP. It is no `Error`, because a refusal needs no stack. */
export class Refusal {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** A sentence that says more than the code's own; undefined for the code's own. */
  readonly message: string | undefined;
  readonly cause: unknown;
  /** The scope that the key lacks; undefined for that of the operation. */
  readonly scope: Scope | undefined;

  constructor(code: ErrorCode, more: More = {}) {
    this.code = code;
    this.details = more.details ?? [];
    this.message = more.message;
    this.cause = more.cause;
    this.scope = more.scope;
  }
}
