/** The messages between the supervisor and its workers, over Bun's IPC. */
import type { MessagePortLike } from '../storage/storage.ts';

export interface Start {
  /** The supervisor's settings, so that a worker started later gets the same settings. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly worker: number;
  readonly workers: number;
  /** The port shared by all workers; 0 lets the first worker choose one. */
  readonly port: number;
  /** When the supervisor started, in Unix ms. */
  readonly startedAt: number;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
}

/** The reason why a worker cannot serve. `code` is a system error code, such as `EADDRINUSE`. */
export interface Failure {
  readonly message: string;
  readonly code?: string | undefined;
}

export interface QuestionMessage {
  readonly number: number;
  readonly content: unknown;
}

/** The ping that a worker answers while its event loop is running. */
export const heartbeat = 'are you there';

export type ToWorker =
  | { readonly kind: 'start'; readonly start: Start }
  | { readonly kind: 'stop' }
  | { readonly kind: 'question'; readonly question: QuestionMessage }
  | { readonly kind: 'store'; readonly message: unknown };

export type FromWorker =
  | { readonly kind: 'serving'; readonly listening: Listening }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'answer'; readonly answer: QuestionMessage }
  | { readonly kind: 'store'; readonly message: unknown };

export class StoreMessagePort implements MessagePortLike {
  readonly #send: (message: unknown) => void;
  #handler: ((message: unknown) => void) | undefined;
  /** Messages that arrived before `listen` was called. */
  #waiting: unknown[] = [];

  constructor(send: (message: unknown) => void) {
    this.#send = send;
  }

  post(message: unknown): void {
    this.#send(message);
  }

  listen(handler: (message: unknown) => void): void {
    this.#handler = handler;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) handler(message);
  }

  receive(message: unknown): void {
    if (this.#handler === undefined) this.#waiting.push(message);
    else this.#handler(message);
  }
}
