import type { SQL } from 'bun';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import type { PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import type { PostgresDatabase } from './database.ts';
import type { Statements } from './statements.ts';
import { risenVersion, type Versioned } from './versions.ts';

export class PostgresPets implements PetStore {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const [pet] = await this.#database.read<Pet[]>(
      (sql) => sql`SELECT id, name, category_id AS "categoryId", status FROM pets WHERE id = ${id}`,
    );
    return pet;
  }

  async list(after: bigint, limit: number, status?: PetStatus): Promise<Pet[]> {
    const pets = await this.#database.read<Pet[]>((sql) =>
      status === undefined
        ? sql`SELECT id, name, category_id AS "categoryId", status FROM pets
              WHERE id > ${after} ORDER BY id LIMIT ${limit}`
        : sql`SELECT id, name, category_id AS "categoryId", status FROM pets
              WHERE status = ${status} AND id > ${after} ORDER BY id LIMIT ${limit}`,
    );
    return [...pets];
  }

  async count(): Promise<number> {
    const [row] = await this.#database.read<{ count: bigint }[]>(
      (sql) => sql`SELECT count(*) AS count FROM pets`,
    );
    return Number(row?.count ?? 0n);
  }
}

export class PostgresPetWrites implements PetWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async add(pets: readonly NewPet[]): Promise<Pet[]> {
    const [row] = await this.#statements.change<TakenRow>(
      'pets',
      (sql) => sql`WITH ${adding(sql, pets)} SELECT last, version FROM taken`,
    );
    return addedPets(pets, row?.last ?? 0n);
  }
}

/** What `taken` says of the animals that were added. */
export type TakenRow = Versioned & { readonly last: bigint };

/**
 * Common table expressions that add animals: one statement for a whole group. The counter's row, whose new value is
 * in `taken`, is locked until the commit, so that ids become visible in their order, on every instance, without
 * gaps. Nothing is added unless `condition` holds.
 */
export function adding(sql: SQL, pets: readonly NewPet[], condition = sql`true`) {
  return sql`
    taken AS (
      UPDATE counters SET last = last + ${pets.length}::bigint, ${risenVersion(sql)}
      WHERE name = 'pets' AND ${condition} RETURNING last, version
    ), added AS (
      INSERT INTO pets (id, name, category_id, status)
      SELECT last - ${pets.length}::bigint + pet.number, pet.name, pet.category_id, pet.status
      FROM taken, json_to_recordset(${rowsOf(pets)}::text::json)
        AS pet (number bigint, name text, category_id bigint, status text)
    )`;
}

/** The animals a group became, from the id of its last one. */
export function addedPets(pets: readonly NewPet[], last: bigint): Pet[] {
  const before = last - BigInt(pets.length);
  return pets.map((pet, index) => ({ id: before + BigInt(index + 1), ...pet }));
}

/** Animals as one parameter. Categories go as text, for JavaScript's numbers would round them. */
function rowsOf(pets: readonly NewPet[]): string {
  const rows = pets.map(({ name, categoryId, status }, index) => {
    return { number: index + 1, name, category_id: String(categoryId), status };
  });
  return JSON.stringify(rows);
}
