import type { Database } from 'bun:sqlite';
import type { Inventory } from '../../contract/inventory.ts';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import { petStatuses } from '../../domain/pet-status.ts';
import type { PetFilter, PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import { InventoryWrites, SqliteInventory } from './inventory.ts';
import { mergedPage } from './pages.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const selection = 'SELECT id, name, category_id AS categoryId, status FROM pets';

export class SqlitePets implements PetStore {
  readonly #snapshot: Snapshot;
  readonly #inventory: SqliteInventory;
  readonly #find;
  readonly #list;
  readonly #listByStatus;
  readonly #listByCategory;
  readonly #listByBoth;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#inventory = new SqliteInventory(database);
    this.#find = database.query<Pet, [bigint]>(`${selection} WHERE id = ?`);
    this.#list = database.query<Pet, [bigint, number]>(`${selection} WHERE id > ? ORDER BY id LIMIT ?`);
    this.#listByStatus = database.query<Pet, [PetStatus, bigint, number]>(
      `${selection} WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByCategory = database.query<Pet, [bigint, bigint, number]>(
      mergedPage(
        petStatuses,
        (status) => `${selection} WHERE category_id = ?1 AND status = '${status}' AND id > ?2`,
      ),
    );
    this.#listByBoth = database.query<Pet, [bigint, PetStatus, bigint, number]>(
      `${selection} WHERE category_id = ? AND status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
  }

  find(id: bigint): Pet | undefined {
    return this.#snapshot.read(() => this.#find.get(id)) ?? undefined;
  }

  list(after: bigint, limit: number, { ids, status, categoryId }: PetFilter = {}): Pet[] {
    return this.#snapshot.read(() => {
      if (ids !== undefined) return this.#named(ids, after, limit, { status, categoryId });
      if (categoryId === undefined) {
        return status === undefined
          ? this.#list.all(after, limit)
          : this.#listByStatus.all(status, after, limit);
      }
      return status === undefined
        ? this.#listByCategory.all(categoryId, after, limit)
        : this.#listByBoth.all(categoryId, status, after, limit);
    });
  }

  inventory(categoryId?: bigint): Inventory {
    return this.#snapshot.read(() => this.#inventory.read(categoryId));
  }

  /** So few are named that each is looked up. */
  #named(ids: readonly bigint[], after: bigint, limit: number, { status, categoryId }: PetFilter): Pet[] {
    const ascending = [...new Set(ids)].filter((id) => id > after).sort((a, b) => (a < b ? -1 : 1));
    const pets: Pet[] = [];
    for (const id of ascending) {
      if (pets.length === limit) break;
      const pet = this.#find.get(id);
      if (pet === null || (status ?? pet.status) !== pet.status) continue;
      if ((categoryId ?? pet.categoryId) === pet.categoryId) pets.push(pet);
    }
    return pets;
  }
}

export class SqlitePetWrites implements PetWrites {
  readonly #touch: Touch;
  readonly #inventory: InventoryWrites;
  readonly #insert;
  readonly #find;
  readonly #update;
  readonly #delete;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#inventory = new InventoryWrites(database);
    this.#insert = database.query<never, [string, bigint, string]>(
      'INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)',
    );
    this.#find = database.query<Pet, [bigint]>(`${selection} WHERE id = ?`);
    this.#update = database.query<never, [string, bigint, string, bigint]>(
      'UPDATE pets SET name = ?, category_id = ?, status = ? WHERE id = ?',
    );
    this.#delete = database.query<never, [bigint]>('DELETE FROM pets WHERE id = ?');
  }

  add(pets: readonly NewPet[]): Pet[] {
    this.#touch('pets');
    const added = pets.map((pet) => {
      const { lastInsertRowid } = this.#insert.run(pet.name, pet.categoryId, pet.status);
      return { id: BigInt(lastInsertRowid), ...pet };
    });
    this.#inventory.add(added);
    return added;
  }

  find(id: bigint): Pet | undefined {
    return this.#find.all(id)[0];
  }

  replace(before: Pet, after: Pet): void {
    this.#touch('pets');
    this.#update.run(after.name, after.categoryId, after.status, before.id);
    this.#inventory.replace(before, after);
  }

  remove(pet: Pet): void {
    this.#touch('pets');
    this.#delete.run(pet.id);
    this.#inventory.remove(pet);
  }
}
