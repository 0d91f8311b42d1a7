import type { Database } from 'bun:sqlite';
import type { Inventory } from '../../../contract/inventory.ts';
import type { NewPet, Pet } from '../../../contract/pets.ts';
import { pets } from '../../../tables/pets.ts';
import type { PetFilter, PetStore } from '../../storage.ts';
import type { AddedEvents, PetWrites } from '../../transaction.ts';
import type { Changes } from './changes.ts';
import { type ReadIn, SqliteEntity } from './entity.ts';
import type { SqliteEventWrites } from './events.ts';
import { Inserts } from './inserts.ts';
import { SqliteInventory } from './inventory.ts';

export class SqlitePets extends SqliteEntity<typeof pets> implements PetStore {
  readonly #inventory: SqliteInventory;

  constructor(database: Database, read: ReadIn) {
    super(database, pets, { read });
    this.#inventory = new SqliteInventory(database);
  }

  override list(after?: bigint, limit?: number, filter: PetFilter = {}): Pet[] {
    const { ids, ...others } = filter;
    if (ids === undefined) return super.list(after, limit, others);
    return this.read(() => this.#named(ids, after ?? 0n, limit ?? ids.length, others));
  }

  inventory(categoryId?: bigint): Inventory {
    return this.read(() => this.#inventory.read(categoryId));
  }

  categoriesInUse(after: bigint | undefined, limit: number): (Inventory & { readonly id: bigint })[] {
    return this.read(() => this.#inventory.list(after, limit));
  }

  /** Looks up each animal by id, because a request contains only a few ids. */
  #named(ids: readonly bigint[], after: bigint, limit: number, { status, categoryId }: PetFilter): Pet[] {
    const ascending = [...new Set(ids)].filter((id) => id > after).sort((a, b) => (a < b ? -1 : 1));
    const named: Pet[] = [];
    for (const id of ascending) {
      if (named.length === limit) break;
      const pet = this.find(id);
      if (pet === undefined || (status ?? pet.status) !== pet.status) continue;
      if ((categoryId ?? pet.categoryId) === pet.categoryId) named.push(pet);
    }
    return named;
  }
}

/**
 * Hand-written, because creating animals is on the hot path, and each change updates the counts by status and category.
 */
export class SqlitePetWrites implements PetWrites {
  readonly #changes: Changes;
  readonly #events: SqliteEventWrites;
  readonly #pets: SqliteEntity<typeof pets>;
  readonly #inserts: Inserts;

  constructor(database: Database, changes: Changes, events: SqliteEventWrites) {
    this.#changes = changes;
    this.#events = events;
    this.#pets = new SqliteEntity(database, pets, { touch: changes.touch });
    this.#inserts = new Inserts(database, 'pets', ['name', 'category_id', 'status']);
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
