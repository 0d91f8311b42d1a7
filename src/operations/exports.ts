import { total } from '../contract/inventory.ts';
import type { Pet } from '../contract/pets.ts';
import type { PetStore } from '../storage/storage.ts';

/** How many animals are read at a time. */
const pageLength = 1_000;

/** All animals by ascending id. Every one that was there at the start comes exactly once, whoever writes meanwhile. */
export class ExportOperations {
  readonly #pets: PetStore;

  constructor(pets: PetStore) {
    this.#pets = pets;
  }

  async count(): Promise<number> {
    return total(await this.#pets.inventory());
  }

  async *pages(): AsyncGenerator<readonly Pet[]> {
    let after = 0n;
    for (;;) {
      const page = await this.#pets.list(after, pageLength);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last.id;
    }
  }
}
