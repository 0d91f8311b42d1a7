import { Call } from './answer.js';
import type { Category, CategoryName, Int64 } from './contract.js';
import { List, type ListQuery } from './list.js';
import type { CallOptions, ChangeOptions, Send } from './request.js';

export interface PutCategoryOptions extends ChangeOptions {
  /** With `'*'`, the call rejects with a PreconditionError if the category already exists. */
  readonly ifNoneMatch?: '*' | undefined;
}

/** Category names. */
export class Categories {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Lists categories in ascending order of id. Requires the `pets:read` scope. */
  list(query: ListQuery = {}, options?: CallOptions): List<Category> {
    return new List(this.#send, 'categories', { ...query }, options);
  }

  /** Gets a category by id. Requires the `pets:read` scope. */
  get(id: Int64, options?: CallOptions): Call<Category> {
    return Call.of(this.#send({ method: 'GET', collection: 'categories', id, options }));
  }

  /** Sets the name of a category. Requires the `pets:write` scope. */
  put(id: Int64, name: CategoryName, options?: PutCategoryOptions): Call<Category> {
    return Call.of(this.#send({ method: 'PUT', collection: 'categories', id, body: name, options }));
  }

  /** Deletes a category's name, but not its animals. Requires the `pets:write` scope. */
  delete(id: Int64, options?: ChangeOptions): Call<void> {
    return Call.of(this.#send({ method: 'DELETE', collection: 'categories', id, options }));
  }
}
