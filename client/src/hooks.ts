import type { AnimalStoreError } from './errors.js';

/** A try of a request. The key is in none of what hooks get. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  /** 1 for the first try. */
  readonly attempt: number;
}

export interface ReceivedResponse extends SentRequest {
  readonly status: number;
  readonly requestId: string | undefined;
  readonly headers: Headers;
  /** Milliseconds from sending the request to the end of its answer. */
  readonly durationMs: number;
}

export interface Retry extends SentRequest {
  /** Why the request will be sent again. */
  readonly error: AnimalStoreError;
  /** Milliseconds until then, at least. */
  readonly waitMs: number;
}

/** For logging. What a hook throws ends the call. */
export interface Hooks {
  /** Before each try. */
  readonly onRequest?: ((request: SentRequest) => void) | undefined;
  /** After each answer. */
  readonly onResponse?: ((response: ReceivedResponse) => void) | undefined;
  /** When a request failed and will be repeated. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}
