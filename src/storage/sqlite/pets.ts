import type { Database } from 'bun:sqlite';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import type { PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const columns = 'id, name, category_id AS categoryId, status';

export class SqlitePets implements PetStore {
  readonly #snapshot: Snapshot;
  readonly #find;
  readonly #list;
  readonly #listByStatus;
  readonly #count;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#find = database.query<Pet, [bigint]>(`SELECT ${columns} FROM pets WHERE id = ?`);
    this.#list = database.query<Pet, [bigint, number]>(
      `SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByStatus = database.query<Pet, [PetStatus, bigint, number]>(
      `SELECT ${columns} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#count = database.query<{ count: bigint }, []>('SELECT count(*) AS count FROM pets');
  }

  find(id: bigint): Pet | undefined {
    return this.#snapshot.read(() => this.#find.get(id)) ?? undefined;
  }

  list(after: bigint, limit: number, status?: PetStatus): Pet[] {
    return this.#snapshot.read(() =>
      status === undefined ? this.#list.all(after, limit) : this.#listByStatus.all(status, after, limit),
    );
  }

  count(): number {
    return this.#snapshot.read(() => Number(this.#count.get()?.count));
  }
}

export class SqlitePetWrites implements PetWrites {
  readonly #touch: Touch;
  readonly #insert;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#insert = database.query<never, [string, bigint, string]>(
      'INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)',
    );
  }

  add(pets: readonly NewPet[]): Pet[] {
    this.#touch('pets');
    return pets.map((pet) => {
      const { lastInsertRowid } = this.#insert.run(pet.name, pet.categoryId, pet.status);
      return { id: BigInt(lastInsertRowid), ...pet };
    });
  }
}
