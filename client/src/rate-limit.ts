import { Call } from './answer.js';
import type { RateLimit as Limits } from './contract.js';
import type { CallOptions, Send } from './request.js';

/** The account's limits. */
export class RateLimit {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Gets the remaining quota. It is free, never waits, and works even while the account is limited or banned.
   * If quota remains, because an operator changed the plan or lifted the ban, waiting calls are sent.
   */
  get(options?: CallOptions): Call<Limits> {
    return Call.of(this.#send({ method: 'GET', collection: 'rate-limit', options, isFree: true }));
  }
}
