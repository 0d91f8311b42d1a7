import { Call } from './answer.js';
import type { Int64, ListOrdersFilters, NewOrder, Order } from './contract.js';
import { List, type ListQuery } from './list.js';
import type { CallOptions, ChangeOptions, PostOptions, Send } from './request.js';

/** Which orders to list. */
export interface OrderQuery extends ListQuery, ListOrdersFilters {}

export interface StepOptions extends PostOptions, ChangeOptions {}

/** The orders for animals. */
export class Orders {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Orders an available animal, which is reserved from then on. Needs the scope `orders:write`. */
  place(order: NewOrder, options?: PostOptions): Call<Order> {
    return Call.of(this.#send({ method: 'POST', collection: 'orders', body: order, options }));
  }

  /** Lists orders by ascending id. Needs the scope `orders:read`. */
  list(query: OrderQuery = {}, options?: CallOptions): List<Order> {
    return new List(this.#send, 'orders', { ...query }, options);
  }

  /** Gets an order by id. Needs the scope `orders:read`. */
  get(id: Int64, options?: CallOptions): Call<Order> {
    return Call.of(this.#send({ method: 'GET', collection: 'orders', id, options }));
  }

  /**
   * Approves a placed order. Needs the scope `orders:write`, as all steps do. With a key that does not have `orders:read`, all
   * steps resolve with undefined.
   */
  approve(id: Int64, options?: StepOptions): Call<Order> {
    return this.#step(id, 'approve', options);
  }

  /** Delivers an approved order: the animal is sold. */
  deliver(id: Int64, options?: StepOptions): Call<Order> {
    return this.#step(id, 'deliver', options);
  }

  /** Cancels an order that is not delivered: the animal is available again. */
  cancel(id: Int64, options?: StepOptions): Call<Order> {
    return this.#step(id, 'cancel', options);
  }

  /** Takes a delivered order's animal back: it is available again. */
  return(id: Int64, options?: StepOptions): Call<Order> {
    return this.#step(id, 'return', options);
  }

  #step(id: Int64, step: string, options: StepOptions | undefined): Call<Order> {
    return Call.of(this.#send({ method: 'POST', collection: 'orders', id, step, options }));
  }
}
