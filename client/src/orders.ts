import { Call } from './answer.js';
import type { Int64, ListOrdersFilters, NewOrder, Order } from './contract.js';
import { List, type ListQuery } from './list.js';
import type { CallOptions, ChangeOptions, PostOptions, Send } from './request.js';

/** Filters and paging for `list`. */
export interface OrderQuery extends ListQuery, ListOrdersFilters {}

export interface StepOptions extends PostOptions, ChangeOptions {}

/** Orders for animals. */
export class Orders {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Places an order for an available animal, which reserves the animal. Requires the `orders:write` scope. */
  place(order: NewOrder, options?: PostOptions): Call<Order> {
    return Call.of(this.#send({ method: 'POST', collection: 'orders', body: order, options }));
  }

  /** Lists orders in ascending order of id. Requires the `orders:read` scope. */
  list(query: OrderQuery = {}, options?: CallOptions): List<Order> {
    return new List(this.#send, 'orders', { ...query }, options);
  }

  /** Gets an order by id. Requires the `orders:read` scope. */
  get(id: Int64, options?: CallOptions): Call<Order> {
    return Call.of(this.#send({ method: 'GET', collection: 'orders', id, options }));
  }

  /**
   * Approves a placed order. All transitions require the `orders:write` scope, and resolve with undefined if the
   * key does not have `orders:read`.
   */
  approve(id: Int64, options?: StepOptions): Call<Order | undefined> {
    return this.#step(id, 'approve', options);
  }

  /** Delivers an approved order, which marks the animal as sold. */
  deliver(id: Int64, options?: StepOptions): Call<Order | undefined> {
    return this.#step(id, 'deliver', options);
  }

  /** Cancels an undelivered order, which makes the animal available again. */
  cancel(id: Int64, options?: StepOptions): Call<Order | undefined> {
    return this.#step(id, 'cancel', options);
  }

  /** Returns a delivered order's animal, which makes it available again if it is still marked as sold. */
  return(id: Int64, options?: StepOptions): Call<Order | undefined> {
    return this.#step(id, 'return', options);
  }

  #step(id: Int64, step: string, options: StepOptions | undefined): Call<Order | undefined> {
    return Call.of(this.#send({ method: 'POST', collection: 'orders', id, step, options }));
  }
}
