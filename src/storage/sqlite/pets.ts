import type { Database } from 'bun:sqlite';
import type { NewPet, Pet, PetStatus } from '../../contract/schemas.ts';
import { type Notice, Outage } from '../outage.ts';
import { type PetStore, StorageUnavailable } from '../storage.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';
import { GroupCommit } from './group-commit.ts';

const columns = 'id, name, category_id AS categoryId, status';

export class SqlitePets implements PetStore {
  /** Rises with every write of this process. */
  writes = 0;
  readonly #format: FormatWatch;
  readonly #outage: Outage;
  readonly #insert;
  readonly #find;
  readonly #list;
  readonly #listByStatus;
  readonly #count;
  readonly #group: GroupCommit<NewPet, Pet>;

  constructor(database: Database, format: FormatWatch, notice: Notice) {
    this.#format = format;
    this.#outage = new Outage('animal storage', notice);
    this.#insert = database.query<never, [string, bigint, string]>(
      'INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)',
    );
    this.#find = database.query<Pet, [bigint]>(`SELECT ${columns} FROM pets WHERE id = ?`);
    this.#list = database.query<Pet, [bigint, number]>(
      `SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByStatus = database.query<Pet, [PetStatus, bigint, number]>(
      `SELECT ${columns} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#count = database.query<{ count: bigint }, []>('SELECT count(*) AS count FROM pets');
    this.#group = new GroupCommit(database, format, (pet) => this.insert(pet));
  }

  async add(pet: NewPet): Promise<Pet> {
    try {
      const added = await this.#group.add(pet);
      this.#outage.end();
      return added;
    } catch (error) {
      if (error instanceof StorageUnavailable) this.#outage.begin((error.cause as Error).message);
      throw error;
    }
  }

  /** Why animals are not being stored, as the last attempt showed; undefined while they are. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** Inserts within the transaction that is open. */
  insert(pet: NewPet): Pet {
    const { lastInsertRowid } = this.#insert.run(pet.name, pet.categoryId, pet.status);
    this.writes++;
    return { id: BigInt(lastInsertRowid), ...pet };
  }

  find(id: bigint): Pet | undefined {
    return attempt(() => this.#find.get(id), this.#format) ?? undefined;
  }

  list(after: bigint, limit: number, status?: PetStatus): Pet[] {
    return attempt(
      () =>
        status === undefined ? this.#list.all(after, limit) : this.#listByStatus.all(status, after, limit),
      this.#format,
    );
  }

  count(): number {
    return attempt(() => Number(this.#count.get()?.count));
  }

  idle(): Promise<void> {
    return this.#group.idle();
  }
}
