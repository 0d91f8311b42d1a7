import type { SQL } from 'bun';
import type { Inventory } from '../../contract/inventory.ts';
import type { NewPet, Pet, PetStatus } from '../../contract/pets.ts';
import { petStatuses } from '../../domain/pet-status.ts';
import type { PetFilter, PetStore } from '../storage.ts';
import type { PetWrites } from '../transaction.ts';
import { mergedPage, pageOf } from './ranges.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, risenVersion, type Versioned } from './versions.ts';

const columns = (sql: SQL) => sql`id, name, category_id AS "categoryId", status`;

export class PostgresPets implements PetStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const [pet] = await this.#reader.read<Pet[]>((sql) => byId(sql, id));
    return pet;
  }

  async list(after: bigint, limit: number, filter: PetFilter = {}): Promise<Pet[]> {
    const pets = await this.#reader.read((sql) => page(sql, after, limit, filter));
    return [...pets];
  }

  async inventory(categoryId?: bigint): Promise<Inventory> {
    const [row] = await this.#reader.read<Record<keyof Inventory, bigint>[]>((sql) =>
      categoryId === undefined
        ? sql`SELECT available, pending, sold FROM inventory`
        : sql`SELECT available, pending, sold FROM inventory_by_category WHERE category_id = ${categoryId}`,
    );
    const { available, pending, sold } = row ?? { available: 0n, pending: 0n, sold: 0n };
    return { available: Number(available), pending: Number(pending), sold: Number(sold) };
  }
}

function byId(sql: SQL, id: bigint): SQL.Query<Pet[]> {
  return sql`SELECT ${columns(sql)} FROM pets WHERE id = ${id}`;
}

function page(
  sql: SQL,
  after: bigint,
  limit: number,
  { ids, status, categoryId }: PetFilter,
): SQL.Query<Pet[]> {
  if (ids !== undefined) return pageOfIds(sql, after, limit, ids, { status, categoryId });
  if (categoryId === undefined) {
    return status === undefined
      ? sql`SELECT ${columns(sql)} FROM pets WHERE id > ${after} ORDER BY id LIMIT ${limit}`
      : pageOfStatus(sql, after, limit, status);
  }
  if (status !== undefined) return pageOfCategory(sql, after, limit, categoryId, status);
  const pages = petStatuses.map((one) => pageOfCategory(sql, after, limit, categoryId, one));
  return mergedPage(sql, pages, limit);
}

function pageOfStatus(sql: SQL, after: bigint, limit: number, status: PetStatus): SQL.Query<Pet[]> {
  const range = {
    columns: columns(sql),
    table: sql`pets`,
    index: sql`status, id`,
    begin: sql`${status}::text, ${after}::bigint`,
    belongs: sql`status = ${status}`,
  };
  return pageOf(sql, range, limit);
}

function pageOfCategory(
  sql: SQL,
  after: bigint,
  limit: number,
  categoryId: bigint,
  status: PetStatus,
): SQL.Query<Pet[]> {
  const range = {
    columns: columns(sql),
    table: sql`pets`,
    index: sql`category_id, status, id`,
    begin: sql`${categoryId}::bigint, ${status}::text, ${after}::bigint`,
    belongs: sql`category_id = ${categoryId} AND status = ${status}`,
  };
  return pageOf(sql, range, limit);
}

/** The animals are found by their ids first, whatever else they have to fit: there are few. */
function pageOfIds(
  sql: SQL,
  after: bigint,
  limit: number,
  ids: readonly bigint[],
  { status, categoryId }: Omit<PetFilter, 'ids'>,
): SQL.Query<Pet[]> {
  return sql`
    SELECT ${columns(sql)} FROM (SELECT * FROM pets WHERE id = ANY (${`{${ids}}`}::text::bigint[]) OFFSET 0) AS named
    WHERE id > ${after}
      AND status = coalesce(${status ?? null}::text, status)
      AND category_id = coalesce(${categoryId ?? null}::bigint, category_id)
    ORDER BY id LIMIT ${limit}`;
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

  async find(id: bigint): Promise<Pet | undefined> {
    const [pet] = await this.#statements.run((sql) => byId(sql, id));
    return pet;
  }

  async replace({ id }: Pet, { name, categoryId, status }: Pet): Promise<void> {
    await this.#statements.change<Versioned>(
      'pets',
      (sql) => sql`
        WITH ${moved(sql, 'pets')}
        UPDATE pets SET name = ${name}, category_id = ${categoryId}, status = ${status}
        FROM moved WHERE id = ${id} RETURNING version`,
    );
  }

  async remove({ id }: Pet): Promise<void> {
    await this.#statements.change<Versioned>(
      'pets',
      (sql) => sql`
        WITH ${moved(sql, 'pets')}
        DELETE FROM pets USING moved WHERE id = ${id} RETURNING version`,
    );
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
