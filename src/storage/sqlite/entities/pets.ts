import type { Database } from 'bun:sqlite';
import type { Inventory, NewPet } from '../../../contract/pets.ts';
import { type Pet, petJson } from '../../../contract/representations.ts';
import type { JsonRows } from '../../../domain/json-rows.ts';
import { pets } from '../../../tables/pets.ts';
import { matchesFilter } from '../../../tables/sql.ts';
import type { PetFilter, PetStore } from '../../storage.ts';
import type { AddedEvents, PetWrites } from '../../transaction.ts';
import type { DeferredChanges } from './changes.ts';
import { type RunRead, SqliteEntity } from './entity.ts';
import type { SqliteEventWrites } from './events.ts';
import { BatchInsert } from './inserts.ts';
import { SqliteInventory } from './inventory.ts';

export class SqlitePets extends SqliteEntity<typeof pets> implements PetStore {
  readonly #inventory: SqliteInventory;
  constructor(database: Database, read: RunRead) {
    super(database, pets, { read });
    this.#inventory = new SqliteInventory(database);
  }

  override listJson(after: bigint | undefined, limit: number, filter: PetFilter = {}): JsonRows {
    const { ids, ...others } = filter;
    if (ids === undefined) return super.listJson(after, limit, others);
    return this.read(() => this.#listNamed(ids, after ?? 0n, limit, others));
  }

  inventory(categoryId?: bigint): Inventory {
    return this.read(() => this.#inventory.read(categoryId));
  }

  categoriesInUse(after: bigint | undefined, limit: number): (Inventory & { readonly id: bigint })[] {
    return this.read(() => this.#inventory.list(after, limit));
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
export class SqlitePetWrites implements PetWrites {
  readonly #changes: DeferredChanges;
  readonly #events: SqliteEventWrites;
  readonly #pets: SqliteEntity<typeof pets>;
  readonly #inserts: BatchInsert;

  constructor(database: Database, changes: DeferredChanges, events: SqliteEventWrites) {
    this.#changes = changes;
    this.#events = events;
    this.#pets = new SqliteEntity(database, pets, { touch: changes.touch });
    this.#inserts = new BatchInsert(database, 'pets', ['name', 'category_id', 'status']);
  }

  add(news: readonly NewPet[], events?: AddedEvents): Pet[] {
    this.#changes.touch('pets');
    const last = this.#inserts.run(
      news.flatMap(({ name, categoryId, status }) => [name, categoryId, status]),
    );
    const before = last - BigInt(news.length);
    const added = news.map(({ name, categoryId, status }, index) => {
      return { id: before + BigInt(index + 1), name, categoryId, status };
    });
    for (const pet of news) this.#changes.count(pet, 1);
    if (events !== undefined) {
      const { type, createdAt, jsonBehindId } = events;
      this.#events.addAll(
        added.map((pet) => ({ type, data: `{"id":${pet.id}${jsonBehindId(pet)}`, createdAt })),
      );
    }
    return added;
  }

  find(id: bigint): Pet | undefined {
    return this.#pets.find(id);
  }

  replace(before: Pet, { name, categoryId, status }: Pet): void {
    const isCountedAlike = before.categoryId === categoryId && before.status === status;
    // SQLite updates the indexes of every column in SET, even if the value is unchanged.
    this.#pets.update(before.id, isCountedAlike ? { name } : { name, categoryId, status });
    this.#changes.count(before, -1);
    this.#changes.count({ categoryId, status }, 1);
  }

  remove(pet: Pet): void {
    this.#pets.remove(pet.id);
    this.#changes.count(pet, -1);
  }
}
