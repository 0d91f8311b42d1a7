/** Access to a described table (`src/tables/`), implemented by every engine. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { FilterIn, KeyIn, LookupIn, NewIn, RowIn } from '../tables/table.ts';

export interface EntityFinds<T> {
  find(key: KeyIn<T>): Awaitable<RowIn<T> | undefined>;
  /** The row with these values of columns that the description names as a lookup. */
  findBy(
    lookup: LookupIn<T>,
    ...values: readonly (string | number | bigint)[]
  ): Awaitable<RowIn<T> | undefined>;
  /**
   * Rows after the key `after`, by ascending key, or by descending key if the table is newest first. Reads no more rows
   * than `limit` at any depth and size, with any filter.
   */
  list(after?: KeyIn<T>, limit?: number, filter?: FilterIn<T>): Awaitable<RowIn<T>[]>;
}

export interface EntityReads<T> extends EntityFinds<T> {
  /** As `list`, by descending key: rows before the key `before`, the last one first. */
  listNewest(before?: KeyIn<T>, limit?: number, filter?: FilterIn<T>): Awaitable<RowIn<T>[]>;
  findMany(keys: readonly KeyIn<T>[]): Awaitable<RowIn<T>[]>;
}

export interface EntityWrites<T> extends EntityFinds<T> {
  /** Adds a row, with the next id if its ids are counted. */
  add(row: NewIn<T>): Awaitable<RowIn<T>>;
  /** As `add`; undefined, with nothing added, if another row has the same values in a unique index. */
  addUnique(row: NewIn<T>): Awaitable<RowIn<T> | undefined>;
  put(row: RowIn<T>): Awaitable<void>;
  update(key: KeyIn<T>, changes: Partial<NewIn<T>>): Awaitable<void>;
  remove(key: KeyIn<T>): Awaitable<void>;
}

export function entitiesOf<Made extends object>(
  tables: { readonly [Name in keyof Made]: unknown },
  make: (table: unknown) => unknown,
): Made {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, make(table)])) as Made;
}
