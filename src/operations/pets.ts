import type { ListPetsQuery, NewPet, Pet } from '../contract/pets.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import { readCursor, writeCursor } from '../domain/cursor.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Store } from './units.ts';

export interface PetPage {
  readonly pets: Pet[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** The catalogue's operations, by their operationId. */
export class PetOperations {
  readonly #store: Pick<Store, 'pets' | 'write'>;

  constructor(store: Pick<Store, 'pets' | 'write'>) {
    this.#store = store;
  }

  /** A page by ascending id, after the cursor. Refuses `invalid_cursor`. */
  listPets({ limit, status, cursor }: ListPetsQuery): Awaitable<PetPage> {
    const after = cursor === undefined ? 0n : readCursor(cursor, status);
    // One more than asked for tells whether there is a next page.
    return andThen(this.#store.pets.list(after, limit + 1, status), (found) => {
      const pets = found.slice(0, limit);
      const last = pets.at(-1);
      const next =
        found.length > limit && last !== undefined ? writeCursor({ after: last.id, status }) : undefined;
      return { pets, next };
    });
  }

  /** Adds an animal; it is durable when this resolves. Refuses `service_unavailable`. */
  createPet(pet: NewPet): Promise<Pet> {
    return this.#store.write('createPet', pet);
  }

  /** Refuses `pet_not_found`, also for what is no int64 (`undefined`). */
  getPet(id: bigint | undefined): Awaitable<Pet> {
    return andThen(id === undefined ? undefined : this.#store.pets.find(id), (pet) => {
      if (pet === undefined) throw new Refusal('pet_not_found');
      return pet;
    });
  }
}
