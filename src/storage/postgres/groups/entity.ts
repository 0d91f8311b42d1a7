import { type Awaitable, andThen } from '../../../domain/awaitable.ts';
import { toAddedRow } from '../../../tables/sql.ts';
import type { KeyOf, LookupOf, NewRowOf, RowOf, Table } from '../../../tables/table.ts';
import type { EntityWrites } from '../../entity.ts';
import type { Key, Row } from './rows.ts';
import type { UnitChanges } from './unit-changes.ts';

/** Gives a unit of a group access to a table. Writes stay in memory, and reads merge them with the stored rows. */
export class GroupEntity<T> implements EntityWrites<T> {
  readonly #table: Table;
  readonly #unit: UnitChanges;

  constructor(table: T, unit: UnitChanges) {
    this.#table = table as Table;
    this.#unit = unit;
  }

  find(key: KeyOf<T>): Awaitable<RowOf<T> | undefined> {
    return this.#unit.find(this.#table, key as Key) as Awaitable<RowOf<T> | undefined>;
  }

  findBy(lookup: LookupOf<T>, ...values: readonly Key[]): Awaitable<RowOf<T> | undefined> {
    const [value, ...others] = values;
    if (value === undefined || others.length > 0)
      throw unsupported(this.#table, 'a lookup by several columns');
    return this.#unit.findBy(this.#table, lookup, value) as Awaitable<RowOf<T> | undefined>;
  }

  list(): never {
    throw unsupported(this.#table, 'a list');
  }

  add(row: NewRowOf<T>): Awaitable<RowOf<T>> {
    const { isCounted, key } = this.#table;
    if (!isCounted) {
      const added = row as Row;
      return andThen(this.put(row as unknown as RowOf<T>), () => added as unknown as RowOf<T>);
    }
    const id = this.#unit.nextId();
    const added: Row = { ...(toAddedRow(this.#table, row as object, id) as Row), [key[0] ?? '']: id };
    this.#unit.add(this.#table, id, { ...(row as object), ...added });
    return added as RowOf<T>;
  }

  addUnique(): never {
    throw unsupported(this.#table, 'a unique insert');
  }

  put(row: RowOf<T>): Awaitable<void> {
    const key = (row as Row)[this.#table.key[0] ?? ''] as Key;
    return this.#unit.set(this.#table, key, () => row as Row);
  }

  update(key: KeyOf<T>, changes: Partial<NewRowOf<T>>): Awaitable<void> {
    return this.#unit.set(this.#table, key as Key, (row) => row && { ...row, ...(changes as Row) });
  }

  remove(key: KeyOf<T>): Awaitable<void> {
    return this.#unit.set(this.#table, key as Key, () => undefined);
  }
}

/** Thrown when a unit of a group reads a list or uses a hand-written statement. The unit runs again in a transaction. */
export class NeedsTransaction extends Error {}

export function unsupported({ name }: { readonly name: string }, what: string): NeedsTransaction {
  return new NeedsTransaction(`The unit used ${what} of "${name}", which needs a transaction.`);
}
