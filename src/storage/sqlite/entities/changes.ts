import type { Inventory, NewPet } from '../../../contract/pets.ts';
import { petStatuses } from '../../../domain/pet-status.ts';
import type { Resource } from '../../../domain/resources.ts';
import type { MarkChanged } from './entity.ts';

type Counts = Record<keyof Inventory, number>;

/** Changes made by units, written once for the whole group, immediately before its commit. */
export class DeferredChanges {
  readonly #touched = new Set<Resource>();
  /** The change of the number of animals in each status, by category. */
  readonly #categories = new Map<bigint, Counts>();

  readonly touch: MarkChanged = (resource) => {
    this.#touched.add(resource);
  };

  count({ categoryId, status }: Pick<NewPet, 'categoryId' | 'status'>, by: number): void {
    this.#countsOf(categoryId)[status] += by;
  }

  include(other: DeferredChanges): void {
    for (const resource of other.#touched) this.#touched.add(resource);
    for (const [categoryId, counts] of other.#categories) {
      const own = this.#countsOf(categoryId);
      for (const status of petStatuses) own[status] += counts[status];
    }
  }

  clear(): void {
    this.#touched.clear();
    this.#categories.clear();
  }

  get touched(): ReadonlySet<Resource> {
    return this.#touched;
  }

  *categories(): Generator<readonly [bigint, Readonly<Counts>]> {
    for (const entry of this.#categories) {
      const [, counts] = entry;
      if (petStatuses.some((status) => counts[status] !== 0)) yield entry;
    }
  }

  #countsOf(categoryId: bigint): Counts {
    const known = this.#categories.get(categoryId);
    if (known !== undefined) return known;
    const counts = { available: 0, pending: 0, sold: 0 };
    this.#categories.set(categoryId, counts);
    return counts;
  }
}
