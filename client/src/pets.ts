import { type Answer, Call } from './answer.js';
import type { Int64, ListPetsFilters, NewPet, Pet, PetPatch } from './contract.js';
import { PreconditionError, ServerError } from './errors.js';
import { List, type ListQuery } from './list.js';
import type { CallOptions, ChangeOptions, PostOptions, Send } from './request.js';

/** Filters and paging for `list`. */
export interface PetQuery extends ListQuery, Omit<ListPetsFilters, 'id'> {
  /** Returns only the animals with these ids, at most 100. Unknown ids are ignored. */
  readonly ids?: readonly Int64[] | undefined;
}

/** Maximum number of times that `updateWith` starts over because another client has changed the animal. */
const maxConflicts = 100;

/** Animals of the store. */
export class Pets {
  readonly #send: Send;
  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /** Lists animals in ascending order of id. Requires the `pets:read` scope. */
  list({ ids, ...query }: PetQuery = {}, options?: CallOptions): List<Pet> {
    return new List(this.#send, 'pets', ids === undefined ? { ...query } : { ...query, id: ids }, options);
  }

  /** Gets an animal by id; undefined if it does not exist. Requires the `pets:read` scope. */
  find(id: Int64, options?: CallOptions): Call<Pet | undefined> {
    const request = {
      method: 'GET',
      collection: 'pets',
      query: { id: [id] },
      isList: true,
      options,
    } as const;
    // The response's ETag identifies the list, so it cannot be used to change the animal.
    const found = this.#send<readonly Pet[]>(request).then(({ data: [pet], ...answer }) => ({
      ...answer,
      data: pet,
      etag: undefined,
    }));
    return Call.of(found);
  }

  /** Adds an animal. Requires the `pets:create` scope. */
  create(pet: NewPet, options?: PostOptions): Call<Pet> {
    return Call.of(this.#send({ method: 'POST', collection: 'pets', body: pet, options }));
  }

  /**
   * Gets an animal by id. Requires the `pets:read` scope.
   * @deprecated Use `find(id)`. Calls reject with a RemovedError after the operation is removed on 5 December 2030.
   */
  get(id: Int64, options?: CallOptions): Call<Pet> {
    return Call.of(this.#send({ method: 'GET', collection: 'pets', id, options }));
  }

  /**
   * Updates the given fields of an animal. Requires the `pets:write` scope. Resolves with undefined if the key
   * does not have `pets:read`.
   */
  update(id: Int64, patch: PetPatch, options?: ChangeOptions): Call<Pet | undefined> {
    return Call.of(this.#send({ method: 'PATCH', collection: 'pets', id, body: patch, options }));
  }

  /**
   * Reads an animal, calls `change` with it, and applies the patch that `change` returns. If another client
   * changes the animal in the meantime, starts over with the new version, so that no change is lost. If
   * `change` returns nothing, the animal stays unchanged. Rejects with a PreconditionError whose `isOutcomeUnknown`
   * is true if the animal has changed after an attempt without a conclusive response: the change may be that
   * attempt's or another client's. Requires the `pets:read` and `pets:write` scopes.
   */
  updateWith(
    id: Int64,
    change: (pet: Pet) => PetPatch | undefined | Promise<PetPatch | undefined>,
    options?: CallOptions,
  ): Call<Pet> {
    return Call.of(this.#updateWith(id, change, options));
  }

  /** Deletes an animal. Requires the `pets:write` scope. */
  delete(id: Int64, options?: ChangeOptions): Call<void> {
    return Call.of(this.#send({ method: 'DELETE', collection: 'pets', id, options }));
  }

  async #updateWith(
    id: Int64,
    change: (pet: Pet) => PetPatch | undefined | Promise<PetPatch | undefined>,
    options: CallOptions | undefined,
  ): Promise<Answer<Pet>> {
    for (let conflicts = 0; ; conflicts++) {
      // An empty patch returns the animal with its ETag, which a list does not provide.
      const current = readable(await this.update(id, {}, options).withResponse());
      const patch = await change(current.data);
      if (patch === undefined) return current;
      try {
        return readable(await this.update(id, patch, { ...options, ifMatch: current.etag }).withResponse());
      } catch (error) {
        if (!(error instanceof PreconditionError) || conflicts === maxConflicts) throw error;
        // No state of the animal shows who changed it. Starting over could apply the change twice, and a success could be
        // another client's.
        if (error.isOutcomeUnknown) throw error;
      }
    }
  }
}

/** Throws a ServerError if the response to an update does not contain the animal or its ETag. */
function readable(answer: Answer<Pet | undefined>): Answer<Pet> {
  const { data, etag, status, headers, requestId } = answer;
  if (data !== undefined && etag !== undefined) return { ...answer, data };
  const message =
    'The response has no ETag. Check that the key has the scope pets:read and that no proxy removes the header.';
  throw new ServerError({ code: 'unexpected_response', message, status, headers, requestId, attempts: 1 });
}
