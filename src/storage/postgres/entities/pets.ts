import type { SQL } from 'bun';
import type { Inventory, NewPet } from '../../../contract/pets.ts';
import type { JsonRows } from '../../../domain/json-rows.ts';
import { pets } from '../../../tables/pets.ts';
import { sqlName } from '../../../tables/sql.ts';
import type { PetFilter, PetStore } from '../../storage.ts';
import type { AddedEvents, PetWrites } from '../../transaction.ts';
import type { Statements, Versioned } from '../statements.ts';
import { incrementVersion } from '../versions.ts';
import { casts, PostgresEntity } from './entity.ts';
import type { PostgresEventWrites } from './events.ts';

const named = '(SELECT * FROM pets WHERE id = ANY ($1::text::bigint[]) OFFSET 0) AS named';

/** A filter whose parameter is null matches every animal. */
const namedFilters = pets.filters.map((name, index) => {
  const column = sqlName(name);
  const type = casts[pets.columns[name]?.type ?? 'text'];
  return `${column} = coalesce($${index + 3}::${type}, ${column})`;
});

const noneCounted = { available: 0n, pending: 0n, sold: 0n };

export class PostgresPets extends PostgresEntity<typeof pets> implements PetStore {
  /** Looks up the animals by id first, because a request contains only a few ids. */
  readonly #named = this.texts.asJson(`${this.texts.select.replace('FROM pets', `FROM ${named}`)}
    WHERE id > $2::bigint AND ${namedFilters.join(' AND ')} ORDER BY id LIMIT $${namedFilters.length + 3}`);

  override listJson(after: bigint | undefined, limit: number, filter: PetFilter = {}): Promise<JsonRows> {
    const { ids, ...others } = filter;
    if (ids === undefined) return super.listJson(after, limit, others);
    const values = pets.filters.map((name) => others[name as keyof typeof others] ?? null);
    return this.jsonRows(limit, this.#named, `{${ids}}`, after ?? 0n, ...values);
  }

  async inventory(categoryId?: bigint): Promise<Inventory> {
    const counts = 'SELECT available, pending, sold FROM';
    const [row] = await (categoryId === undefined
      ? this.select(`${counts} inventory`)
      : this.select(`${counts} inventory_by_category WHERE category_id = $1`, categoryId));
    const { available, pending, sold } = (row ?? noneCounted) as Record<keyof Inventory, bigint>;
    return { available: Number(available), pending: Number(pending), sold: Number(sold) };
  }

  async categoriesInUse(after: bigint | undefined, limit: number) {
    const from = after === undefined ? -(2n ** 63n) : after + 1n;
    const rows = await this.runner.run(
      (sql): SQL.Query<(Record<keyof Inventory, bigint> & { readonly id: bigint })[]> => sql`
        SELECT category_id AS id, available, pending, sold FROM inventory_by_category
        WHERE category_id >= ${from} ORDER BY category_id LIMIT ${limit}`,
    );
    return rows.map(({ id, available, pending, sold }) => {
      return { id, available: Number(available), pending: Number(pending), sold: Number(sold) };
    });
  }
}

/**
 * Uses a hand-written statement to insert a whole group's animals at once, because creating animals is on the hot path.
 */
export function petWrites(statements: Statements, recorded: PostgresEventWrites): PetWrites {
  const entity = new PostgresEntity(pets, statements);
  return {
    /**
     * Locks the counter's row until the commit, so that ids become visible in order and without gaps on every instance.
     */
    add: async (added, events) => {
      const { type = null, createdAt = null, jsonBehindId } = (recorded.isOn ? events : undefined) ?? {};
      const [row] = await statements.change<Versioned & { readonly last: bigint }>(
        'pets',
        (sql) => sql`
          WITH taken AS (
            UPDATE counters SET last = last + ${added.length}::bigint, ${incrementVersion(sql)}
            WHERE name = 'pets' RETURNING last, version
          ), numbered AS (
            SELECT last - ${added.length}::bigint + number AS id, pet.*
            FROM taken, json_to_recordset(${rowsOf(added, jsonBehindId)}::text::json)
              AS pet (number bigint, name text, category_id bigint, status text, json text)
          ), added AS (
            INSERT INTO pets (id, name, category_id, status)
            SELECT id, name, category_id, status FROM numbered
          ), recorded AS (
            INSERT INTO unnumbered_events (type, data, created_at)
            SELECT ${type}::text, '{"id":' || id || json, ${createdAt}::bigint FROM numbered
            WHERE json IS NOT NULL ORDER BY id
          )
          SELECT last, version FROM taken`,
      );
      const before = (row?.last ?? 0n) - BigInt(added.length);
      return added.map((pet, index) => ({ id: before + BigInt(index + 1), ...pet }));
    },
    find: (id) => entity.find(id),
    replace: ({ id }, { name, categoryId, status }) => entity.update(id, { name, categoryId, status }),
    remove: ({ id }) => entity.remove(id),
  };
}

/** Encodes animals as one parameter. Category ids are text, because JavaScript numbers would round them. */
function rowsOf(added: readonly NewPet[], jsonBehindId: AddedEvents['jsonBehindId'] | undefined): string {
  const rows = added.map((pet, index) => {
    const { name, categoryId, status } = pet;
    return { number: index + 1, name, category_id: String(categoryId), status, json: jsonBehindId?.(pet) };
  });
  return JSON.stringify(rows);
}
