import type { Database } from 'bun:sqlite';
import type { Inventory, NewPet } from '../../../contract/pets.ts';
import { petStatuses } from '../../../domain/pet-status.ts';

export type CountedPet = Pick<NewPet, 'categoryId' | 'status'>;

/** The lowest possible category id. */
const minInt64 = -(2n ** 63n);

type InventoryRow = Record<keyof Inventory, bigint>;

const columns = 'available, pending, sold';

export class SqliteInventory {
  readonly #total;
  readonly #ofCategory;
  readonly #categories;

  constructor(database: Database) {
    this.#total = database.query<InventoryRow, []>(`SELECT ${columns} FROM inventory WHERE id = 1`);
    this.#ofCategory = database.query<InventoryRow, [bigint]>(
      `SELECT ${columns} FROM inventory_by_category WHERE category_id = ?`,
    );
    this.#categories = database.query<InventoryRow & { readonly id: bigint }, [bigint, number]>(
      `SELECT category_id AS id, ${columns} FROM inventory_by_category
       WHERE category_id >= ? ORDER BY category_id LIMIT ?`,
    );
  }

  read(categoryId: bigint | undefined): Inventory {
    const [row] = categoryId === undefined ? this.#total.all() : this.#ofCategory.all(categoryId);
    return {
      available: Number(row?.available ?? 0n),
      pending: Number(row?.pending ?? 0n),
      sold: Number(row?.sold ?? 0n),
    };
  }

  list(after: bigint | undefined, limit: number): (Inventory & { readonly id: bigint })[] {
    return this.#categories
      .all(after === undefined ? minInt64 : after + 1n, limit)
      .map(({ id, available, pending, sold }) => {
        return { id, available: Number(available), pending: Number(pending), sold: Number(sold) };
      });
  }
}

type Counts = Record<keyof Inventory, number>;

export class InventoryChange {
  readonly #categories = new Map<bigint, Counts>();

  count({ categoryId, status }: CountedPet, by: number): void {
    this.#of(categoryId)[status] += by;
  }

  include(other: InventoryChange): void {
    for (const [categoryId, counts] of other.#categories) {
      const own = this.#of(categoryId);
      for (const status of petStatuses) own[status] += counts[status];
    }
  }

  *categories(): Generator<readonly [bigint, Readonly<Counts>]> {
    for (const entry of this.#categories) {
      const [, counts] = entry;
      if (petStatuses.some((status) => counts[status] !== 0)) yield entry;
    }
  }

  clear(): void {
    this.#categories.clear();
  }

  #of(categoryId: bigint): Counts {
    const known = this.#categories.get(categoryId);
    if (known !== undefined) return known;
    const counts = { available: 0, pending: 0, sold: 0 };
    this.#categories.set(categoryId, counts);
    return counts;
  }
}

/**
 * Updates the counts in the transaction that changes the animals, using one statement per category and one for the
 * totals.
 */
export class InventoryWrites {
  readonly #count;
  readonly #countCategory;
  readonly #dropEmpty;

  constructor(database: Database) {
    this.#count = database.query<never, [number, number, number]>(
      'UPDATE inventory SET available = available + ?, pending = pending + ?, sold = sold + ? WHERE id = 1',
    );
    this.#countCategory = database.query<never, [bigint, number, number, number]>(
      `INSERT INTO inventory_by_category (category_id, ${columns}) VALUES (?, ?, ?, ?)
       ON CONFLICT (category_id) DO UPDATE SET
         available = available + excluded.available,
         pending = pending + excluded.pending,
         sold = sold + excluded.sold`,
    );
    this.#dropEmpty = database.query<never, [bigint]>(
      `DELETE FROM inventory_by_category
       WHERE category_id = ? AND available = 0 AND pending = 0 AND sold = 0`,
    );
  }

  write(change: InventoryChange): void {
    const total = { available: 0, pending: 0, sold: 0 };
    for (const [categoryId, { available, pending, sold }] of change.categories()) {
      this.#countCategory.run(categoryId, available, pending, sold);
      if (available + pending + sold < 0) this.#dropEmpty.run(categoryId);
      total.available += available;
      total.pending += pending;
      total.sold += sold;
    }
    if (petStatuses.some((status) => total[status] !== 0)) {
      this.#count.run(total.available, total.pending, total.sold);
    }
  }
}
