import type { Port } from '../storage/port.ts';

/** The store's part of the way between a worker and its supervisor. */
export class StorePort implements Port {
  readonly #send: (message: unknown) => void;
  #handler: ((message: unknown) => void) | undefined;
  /** Arrived before anybody listened. */
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

  /** Hands over a message from the other side. */
  receive(message: unknown): void {
    if (this.#handler === undefined) this.#waiting.push(message);
    else this.#handler(message);
  }
}
