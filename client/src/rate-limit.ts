import { Call } from './answer.js';
import type { RateLimit as Limits } from './contract.js';
import type { CallOptions, Send } from './request.js';

/** The account's rate limits. */
export class RateLimit {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Gets the remaining quota. The call does not count against the limit, never waits, and succeeds even while the
   * account is rate limited or the key is banned. If quota is available again, because an operator changed the plan
   * or lifted the ban, the client sends the waiting calls.
   */
  get(options?: CallOptions): Call<Limits> {
    return Call.of(this.#send({ method: 'GET', collection: 'rate-limit', options, isFree: true }));
  }
}
