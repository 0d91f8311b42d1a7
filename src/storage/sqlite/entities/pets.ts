import type { Database } from 'bun:sqlite';
import type { Inventory } from '../../../contract/pets.ts';
import { type Pet, petJson } from '../../../contract/representations.ts';
import type { JsonRows } from '../../../domain/json-rows.ts';
import { pets } from '../../../tables/pets.ts';
import { matchesFilter } from '../../../tables/sql.ts';
import type { PetFilter, PetStore } from '../../storage.ts';
import type { PetWrites } from '../../transaction.ts';
import type { DeferredChanges } from './changes.ts';
import { type RunRead, SqliteEntity } from './entity.ts';
import type { SqliteEventWrites } from './events.ts';
import { batchInsert } from './inserts.ts';

/** The lowest possible category id. */
const minInt64 = -(2n ** 63n);

const counts = 'available, pending, sold';

type InventoryRow = Record<keyof Inventory, bigint>;

function toInventory(row: InventoryRow | undefined): Inventory {
  return {
    available: Number(row?.available ?? 0n),
    pending: Number(row?.pending ?? 0n),
    sold: Number(row?.sold ?? 0n),
  };
}

export class SqlitePets extends SqliteEntity<typeof pets> implements PetStore {
  readonly #total;
  readonly #ofCategory;
  readonly #categories;

  constructor(database: Database, read: RunRead) {
    super(database, pets, { read });
    this.#total = database.query<InventoryRow, []>(`SELECT ${counts} FROM inventory WHERE id = 1`);
    this.#ofCategory = database.query<InventoryRow, [bigint]>(
      `SELECT ${counts} FROM inventory_by_category WHERE category_id = ?`,
    );
    this.#categories = database.query<InventoryRow & { readonly id: bigint }, [bigint, number]>(
      `SELECT category_id AS id, ${counts} FROM inventory_by_category
       WHERE category_id >= ? ORDER BY category_id LIMIT ?`,
    );
  }

  override listJson(after: bigint | undefined, limit: number, filter: PetFilter = {}): JsonRows {
    const { ids, ...others } = filter;
    if (ids === undefined) return super.listJson(after, limit, others);
    return this.read(() => this.#listNamed(ids, after ?? 0n, limit, others));
  }

  inventory(categoryId?: bigint): Inventory {
    const [row] = this.read(() =>
      categoryId === undefined ? this.#total.all() : this.#ofCategory.all(categoryId),
    );
    return toInventory(row);
  }

  categoriesInUse(after: bigint | undefined, limit: number): (Inventory & { readonly id: bigint })[] {
    const from = after === undefined ? minInt64 : after + 1n;
    return this.read(() => this.#categories.all(from, limit)).map((row) => ({
      id: row.id,
      ...toInventory(row),
    }));
  }

  /** Looks up each animal by id, because a request contains only a few ids. */
  #listNamed(ids: readonly bigint[], after: bigint, limit: number, filter: PetFilter): JsonRows {
    const named: Pet[] = [];
    for (const id of [...new Set(ids)].filter((id) => id > after).sort((a, b) => (a < b ? -1 : 1))) {
      if (named.length > limit) break;
      const pet = this.find(id);
      if (pet !== undefined && matchesFilter(pet, filter)) named.push(pet);
    }
    const page = named.slice(0, limit);
    return { json: `[${page.map(petJson)}]`, last: page.at(-1)?.id, next: named[limit]?.id };
  }
}

/**
 * Hand-written, because creating animals is on the hot path, and each change updates the counts by status and category.
 */
export function petWrites(
  database: Database,
  changes: DeferredChanges,
  recorded: SqliteEventWrites,
): PetWrites {
  const entity = new SqliteEntity(database, pets, { touch: changes.touch });
  const insert = batchInsert(database, 'pets', ['name', 'category_id', 'status']);
  return {
    add: (news, events) => {
      changes.touch('pets');
      const last = insert(news.flatMap(({ name, categoryId, status }) => [name, categoryId, status]));
      const before = last - BigInt(news.length);
      const added = news.map(({ name, categoryId, status }, index) => {
        return { id: before + BigInt(index + 1), name, categoryId, status };
      });
      for (const pet of news) changes.count(pet, 1);
      if (events !== undefined) {
        const { type, createdAt, jsonBehindId } = events;
        recorded.addAll(
          added.map((pet) => ({ type, data: `{"id":${pet.id}${jsonBehindId(pet)}`, createdAt })),
        );
      }
      return added;
    },
    find: (id) => entity.find(id),
    replace: (before, { name, categoryId, status }) => {
      const isCountedAlike = before.categoryId === categoryId && before.status === status;
      // SQLite updates the indexes of every column in SET, even if the value is unchanged.
      entity.update(before.id, isCountedAlike ? { name } : { name, categoryId, status });
      changes.count(before, -1);
      changes.count({ categoryId, status }, 1);
    },
    remove: (pet) => {
      entity.remove(pet.id);
      changes.count(pet, -1);
    },
  };
}
