import type { Database } from 'bun:sqlite';
import type { Inventory } from '../../contract/inventory.ts';
import type { NewPet } from '../../contract/pets.ts';

/** What of an animal is counted. */
export type Counted = Pick<NewPet, 'categoryId' | 'status'>;

type InventoryRow = Record<keyof Inventory, bigint>;

/** How much the counts of a category change. */
type Change = Record<keyof Inventory, number>;

const columns = 'available, pending, sold';

/** How many animals there are in each status, as the counts beside them say. */
export class SqliteInventory {
  readonly #total;
  readonly #ofCategory;

  constructor(database: Database) {
    this.#total = database.query<InventoryRow, []>(`SELECT ${columns} FROM inventory WHERE id = 1`);
    this.#ofCategory = database.query<InventoryRow, [bigint]>(
      `SELECT ${columns} FROM inventory_by_category WHERE category_id = ?`,
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
}

/** Keeps the counts, in the transaction of what changes the animals: one statement for each category, and one for all. */
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

  add(pets: readonly Counted[]): void {
    this.#change([], pets);
  }

  replace(before: Counted, after: Counted): void {
    if (before.categoryId === after.categoryId && before.status === after.status) return;
    this.#change([before], [after]);
  }

  remove(pet: Counted): void {
    this.#change([pet], []);
  }

  #change(gone: readonly Counted[], come: readonly Counted[]): void {
    const changes = new Map<bigint, Change>();
    const total = { available: 0, pending: 0, sold: 0 };
    const count = ({ categoryId, status }: Counted, by: number) => {
      const change = changes.get(categoryId) ?? { available: 0, pending: 0, sold: 0 };
      change[status] += by;
      total[status] += by;
      changes.set(categoryId, change);
    };
    for (const pet of gone) count(pet, -1);
    for (const pet of come) count(pet, 1);
    for (const [categoryId, { available, pending, sold }] of changes) {
      this.#countCategory.run(categoryId, available, pending, sold);
    }
    this.#count.run(total.available, total.pending, total.sold);
    for (const { categoryId } of gone) this.#dropEmpty.run(categoryId);
  }
}
