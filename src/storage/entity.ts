/** Access to a table described in `src/tables/`, implemented by every engine. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { FilterIn, KeyIn, LookupIn, NewIn, RowIn } from '../tables/table.ts';

interface EntityFinds<T> {
  find(key: KeyIn<T>): Awaitable<RowIn<T> | undefined>;
  /** The row whose lookup columns have these values. */
  findBy(
    lookup: LookupIn<T>,
    ...values: readonly (string | number | bigint)[]
  ): Awaitable<RowIn<T> | undefined>;
  /**
   * Rows after the key `after`, in ascending order of the key, or in descending order if the table is newest first.
   * Never reads more than `limit` rows, regardless of the position, the table size and the filter.
   */
  list(after?: KeyIn<T>, limit?: number, filter?: FilterIn<T>): Awaitable<RowIn<T>[]>;
}

export interface EntityReads<T> extends EntityFinds<T> {
  /** Like `list`, but returns the rows before the key `before`, in descending order of the key. */
  listNewest(before?: KeyIn<T>, limit?: number, filter?: FilterIn<T>): Awaitable<RowIn<T>[]>;
  findMany(keys: readonly KeyIn<T>[]): Awaitable<RowIn<T>[]>;
}

export interface EntityWrites<T> extends EntityFinds<T> {
  /** Adds a row. Assigns the next id if the ids of the table come from a counter. */
  add(row: NewIn<T>): Awaitable<RowIn<T>>;
  /** Like `add`, but adds nothing and returns undefined if another row has the same values in a unique index. */
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
