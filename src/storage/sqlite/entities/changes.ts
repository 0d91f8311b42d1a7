import type { Resource } from '../../../domain/resources.ts';
import type { MarkChanged } from './entity.ts';
import { type CountedPet, InventoryChange } from './inventory.ts';

/** Changes made by units, written once for the whole group, immediately before its commit. */
export class DeferredChanges {
  readonly #touched = new Set<Resource>();
  readonly #inventory = new InventoryChange();

  readonly touch: MarkChanged = (resource) => {
    this.#touched.add(resource);
  };

  count(pet: CountedPet, by: number): void {
    this.#inventory.count(pet, by);
  }

  include(other: DeferredChanges): void {
    for (const resource of other.#touched) this.#touched.add(resource);
    this.#inventory.include(other.#inventory);
  }

  clear(): void {
    this.#touched.clear();
    this.#inventory.clear();
  }

  get touched(): ReadonlySet<Resource> {
    return this.#touched;
  }

  get inventory(): InventoryChange {
    return this.#inventory;
  }
}
