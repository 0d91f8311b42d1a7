import type { AnimalStoreError } from './errors.js';

/** An attempt to send a request. Does not contain the key. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
}

export interface ReceivedResponse extends SentRequest {
  readonly status: number;
  readonly requestId: string | undefined;
  readonly headers: Headers;
  /** Milliseconds from sending the request to the end of the response. */
  readonly durationMs: number;
}

export interface Retry extends SentRequest {
  /** The error that caused the retry. */
  readonly error: AnimalStoreError;
  /** Minimum delay before the retry, in milliseconds. The retry may be delayed further by other calls. */
  readonly waitMs: number;
}

/** Hooks for logging. If a hook throws, the call rejects with that error. */
export interface Hooks {
  /** Called before each attempt. */
  readonly onRequest?: ((request: SentRequest) => void) | undefined;
  /** Called after each response. */
  readonly onResponse?: ((response: ReceivedResponse) => void) | undefined;
  /** Called when a request has failed and will be retried, before the delay. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}
