import { total } from '../contract/inventory.ts';
import type { Pet } from '../contract/pets.ts';
import type { PetFilter, PetStore } from '../storage/storage.ts';

type ExportFilter = Pick<PetFilter, 'status' | 'categoryId'>;

const pageLength = 1_000;

/** Exports animals by ascending id. One that exists throughout comes exactly once, whatever is written meanwhile. */
export class ExportOperations {
  readonly #pets: PetStore;

  readonly #filter: ExportFilter;

  constructor(pets: PetStore, filter: ExportFilter = {}) {
    this.#pets = pets;
    this.#filter = filter;
  }

  async count(): Promise<number> {
    const { status, categoryId } = this.#filter;
    const inventory = await this.#pets.inventory(categoryId);
    return status === undefined ? total(inventory) : inventory[status];
  }

  async *pages(): AsyncGenerator<readonly Pet[]> {
    let after = 0n;
    for (;;) {
      const page = await this.#pets.list(after, pageLength, this.#filter);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last.id;
    }
  }
}
