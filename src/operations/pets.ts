import type { ListPetsQuery, NewPet, Pet } from '../contract/schemas.ts';
import { readCursor, writeCursor } from '../domain/cursor.ts';
import { Refusal } from '../domain/refusal.ts';
import type { PetStore } from '../storage/storage.ts';

export interface PetPage {
  readonly pets: Pet[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** The catalogue's operations, by their operationId. */
export class PetOperations {
  readonly #pets: PetStore;

  constructor(pets: PetStore) {
    this.#pets = pets;
  }

  /** A page by ascending id, after the cursor. Refuses `invalid_cursor`. */
  async listPets({ limit, status, cursor }: ListPetsQuery): Promise<PetPage> {
    const after = cursor === undefined ? 0n : readCursor(cursor, status);
    // One more than asked for tells whether there is a next page.
    const found = await this.#pets.list(after, limit + 1, status);
    const pets = found.slice(0, limit);
    const last = pets.at(-1);
    const next =
      found.length > limit && last !== undefined ? writeCursor({ after: last.id, status }) : undefined;
    return { pets, next };
  }

  /** Adds an animal; it is durable when this resolves. Refuses `service_unavailable`. */
  createPet(pet: NewPet): Promise<Pet> {
    return this.#pets.add(pet);
  }

  /** Refuses `pet_not_found`, also for what is no int64 (`undefined`). */
  async getPet(id: bigint | undefined): Promise<Pet> {
    const pet = id === undefined ? undefined : await this.#pets.find(id);
    if (pet === undefined) throw new Refusal('pet_not_found');
    return pet;
  }
}
