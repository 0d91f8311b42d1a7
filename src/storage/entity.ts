/** What every engine offers for a described table (`src/tables/`). */
import type { Awaitable } from '../domain/awaitable.ts';
import type { FilterIn, KeyIn, LookupIn, NewIn, RowIn } from '../tables/table.ts';

export interface EntityFinds<T> {
  find(key: KeyIn<T>): Awaitable<RowIn<T> | undefined>;
  /** The row with these values, which the description names as a lookup. */
  findBy(
    lookup: LookupIn<T>,
    ...values: readonly (string | number | bigint)[]
  ): Awaitable<RowIn<T> | undefined>;
  /** Rows behind the key `after`, by ascending key, or by descending key if the table is newest first. Reads no more rows than `limit` at any depth and size, with any filter. */
  list(after?: KeyIn<T>, limit?: number, filter?: FilterIn<T>): Awaitable<RowIn<T>[]>;
}

export interface EntityReads<T> extends EntityFinds<T> {
  findMany(keys: readonly KeyIn<T>[]): Awaitable<RowIn<T>[]>;
}

export interface EntityWrites<T> extends EntityFinds<T> {
  /** Adds a row, with the next id where ids are counted. */
  add(row: NewIn<T>): Awaitable<RowIn<T>>;
  /** As `add`; undefined, and nothing added, when a unique index has the values of another row. */
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
