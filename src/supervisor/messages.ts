/** What the supervisor and its workers tell each other, over Bun's IPC. */

/** All that a worker needs to serve. */
export interface Start {
  /** The settings as the supervisor read them, so that a worker started later has the same ones. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Which of the workers it is, from 1, and how many there are. */
  readonly worker: number;
  readonly workers: number;
  /** The port to share; 0 for any, which the first worker finds. */
  readonly port: number;
  /** When the supervisor started, in Unix ms. */
  readonly startedAt: number;
}

/** Where the workers listen. */
export interface Listening {
  readonly url: string;
  readonly port: number;
}

/** Why a worker cannot serve; `code` is the system's, such as `EADDRINUSE`. */
export interface Failure {
  readonly message: string;
  readonly code?: string | undefined;
}

/** A question to a worker, whatever it is, and the answer with its number. */
export interface Asked {
  readonly number: number;
  readonly content: unknown;
}

/** The question that a worker answers whatever it serves, as long as its event loop turns. */
export const heartbeat = 'are you there';

/** `store`: passed on to the store, whatever it is. */
export type ToWorker =
  | { readonly kind: 'start'; readonly start: Start }
  | { readonly kind: 'stop' }
  | { readonly kind: 'question'; readonly question: Asked }
  | { readonly kind: 'store'; readonly message: unknown };

export type FromWorker =
  | { readonly kind: 'serving'; readonly listening: Listening }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'answer'; readonly answer: Asked }
  | { readonly kind: 'store'; readonly message: unknown };
