import { Call } from './answer.js';
import type { Inventory as Counts, GetInventoryFilters } from './contract.js';
import type { CallOptions, Send } from './request.js';

/** Selects the animals to count. */
export interface InventoryQuery extends GetInventoryFilters {}

/** Animal counts. */
export class Inventory {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Counts animals by status. Requires the `pets:read` scope. */
  get(query: InventoryQuery = {}, options?: CallOptions): Call<Counts> {
    return Call.of(this.#send({ method: 'GET', collection: 'inventory', query: { ...query }, options }));
  }
}
