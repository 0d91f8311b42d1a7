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
   * What is left of the limits. Costs no request, and is sent and answered even while the account is limited or banned. If there
   * is something left, because an operator changed the plan or lifted the ban, what waits is sent.
   */
  get(options?: CallOptions): Call<Limits> {
    return Call.of(this.#send({ method: 'GET', collection: 'rate-limit', options, isFree: true }));
  }
}
