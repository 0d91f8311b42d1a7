import type { Resource } from '../../../domain/resources.ts';
import type { Touch } from './entity.ts';
import { type Counted, InventoryChange } from './inventory.ts';

/** Changes made by units, written once for the whole group, immediately before its commit. */
export class Changes {
  readonly #touched = new Set<Resource>();
  readonly #inventory = new InventoryChange();

  readonly touch: Touch = (resource) => {
    this.#touched.add(resource);
  };

  count(pet: Counted, by: number): void {
    this.#inventory.count(pet, by);
  }

  include(other: Changes): void {
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
