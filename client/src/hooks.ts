import type { AnimalStoreError } from './errors.js';

/** An attempt to send a request. Hooks never receive the key. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  /** From 1. */
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
  /** The cause of the retry. */
  readonly error: AnimalStoreError;
  /** Minimum delay in milliseconds. Other calls may delay it further. */
  readonly waitMs: number;
}

/** Hooks for logging. An error thrown by a hook ends the call. */
export interface Hooks {
  /** Before each attempt. */
  readonly onRequest?: ((request: SentRequest) => void) | undefined;
  /** After each response. */
  readonly onResponse?: ((response: ReceivedResponse) => void) | undefined;
  /** Before a failed request is retried. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}
