import type { SQL } from 'bun';
import type { Inventory } from '../../contract/inventory.ts';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import type { PetFilter, PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import { idsText, idsWithin, int64Max } from './ranges.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, risenVersion, type Versioned } from './versions.ts';

const columns = (sql: SQL) => sql`id, name, category_id AS "categoryId", status`;

export class PostgresPets implements PetStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const [pet] = await this.#reader.read<Pet[]>((sql) => findPet(sql, id));
    return pet;
  }

  async list(after: bigint, limit: number, filter: PetFilter = {}): Promise<Pet[]> {
    const pets = await this.#reader.read<Pet[]>((sql) => listPets(sql, after, limit, filter));
    return [...pets];
  }

  async inventory(categoryId?: bigint): Promise<Inventory> {
    const [row] = await this.#reader.read<Record<PetStatus, bigint>[]>((sql) =>
      categoryId === undefined
        ? sql`SELECT available, pending, sold FROM inventory`
        : sql`SELECT available, pending, sold FROM category_inventory WHERE category_id = ${categoryId}`,
    );
    const { available, pending, sold } = row ?? { available: 0n, pending: 0n, sold: 0n };
    return { available: Number(available), pending: Number(pending), sold: Number(sold) };
  }
}

function findPet(sql: SQL, id: bigint): SQL.Query<Pet[]> {
  return sql`SELECT ${columns(sql)} FROM pets WHERE id = ${id}`;
}
