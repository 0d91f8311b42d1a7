import type { Database } from 'bun:sqlite';
import type { Inventory } from '../../contract/inventory.ts';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import { petStatuses } from '../../domain/pet-status.ts';
import type { PetFilter, PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import { SqliteInventory } from './inventory.ts';
import { mergedPage } from './pages.ts';
import type { Snapshot } from './snapshot.ts';
import type { Changes } from './transaction.ts';

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
  readonly #changes: Changes;
  readonly #insert;
  readonly #find;
  readonly #rename;
  readonly #update;
  readonly #delete;

  constructor(database: Database, changes: Changes) {
    this.#changes = changes;
    this.#insert = database.query<never, [string, bigint, string]>(
      'INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)',
    );
    this.#find = database.query<Pet, [bigint]>(`${selection} WHERE id = ?`);
    this.#rename = database.query<never, [string, bigint]>('UPDATE pets SET name = ? WHERE id = ?');
    this.#update = database.query<never, [string, bigint, string, bigint]>(
      'UPDATE pets SET name = ?, category_id = ?, status = ? WHERE id = ?',
    );
    this.#delete = database.query<never, [bigint]>('DELETE FROM pets WHERE id = ?');
  }

  add(pets: readonly NewPet[]): Pet[] {
    this.#changes.touch('pets');
    return pets.map((pet) => {
      const { lastInsertRowid } = this.#insert.run(pet.name, pet.categoryId, pet.status);
      this.#changes.count(pet, 1);
      return { id: BigInt(lastInsertRowid), ...pet };
    });
  }

  find(id: bigint): Pet | undefined {
    return this.#find.all(id)[0];
  }

  replace(before: Pet, after: Pet): void {
    this.#changes.touch('pets');
    if (before.categoryId === after.categoryId && before.status === after.status) {
      // SQLite writes the indexes of every column that is set, also of one that stays as it is.
      this.#rename.run(after.name, before.id);
      return;
    }
    this.#update.run(after.name, after.categoryId, after.status, before.id);
    this.#changes.count(before, -1);
    this.#changes.count(after, 1);
  }

  remove(pet: Pet): void {
    this.#changes.touch('pets');
    this.#delete.run(pet.id);
    this.#changes.count(pet, -1);
  }
}
