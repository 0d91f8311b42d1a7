import { Call } from './answer.js';
import type { Int64, NewPet, Pet, PetPatch, PetStatus } from './contract.js';
import { List, type ListQuery } from './list.js';
import type { CallOptions, ChangeOptions, PostOptions, Send } from './request.js';

/** Which animals to list. */
export interface PetQuery extends ListQuery {
  readonly status?: PetStatus | undefined;
  readonly categoryId?: Int64 | undefined;
  /** Only these animals, 100 at most; those that do not exist are left out. */
  readonly ids?: readonly Int64[] | undefined;
}

/** The animals of the store. */
export class Pets {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Lists animals by ascending id. Needs the scope `pets:read`. */
  list({ ids, ...query }: PetQuery = {}, options?: CallOptions): List<Pet> {
    return new List(this.#send, 'pets', ids === undefined ? { ...query } : { ...query, id: ids }, options);
  }

  /** Adds an animal. Needs the scope `pets:create`. */
  create(pet: NewPet, options?: PostOptions): Call<Pet> {
    return Call.of(this.#send({ method: 'POST', collection: 'pets', body: pet, options }));
  }

  /**
   * Gets an animal by id. Needs the scope `pets:read`.
   * @deprecated The service removes it on 5 December 2030, and calls then reject with RemovedError. Use
   * `list({ ids: [id] })`.
   */
  get(id: Int64, options?: CallOptions): Call<Pet> {
    return Call.of(this.#send({ method: 'GET', collection: 'pets', id, options }));
  }

  /**
   * Changes members of an animal; the others stay as they are. Needs the scope `pets:write`. With a key that does not have
   * `pets:read`, it resolves with undefined.
   */
  update(id: Int64, patch: PetPatch, options?: ChangeOptions): Call<Pet> {
    return Call.of(this.#send({ method: 'PATCH', collection: 'pets', id, body: patch, options }));
  }

  /** Removes an animal. Needs the scope `pets:write`. */
  delete(id: Int64, options?: ChangeOptions): Call<void> {
    return Call.of(this.#send({ method: 'DELETE', collection: 'pets', id, options }));
  }
}
