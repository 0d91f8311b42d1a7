/** Access to a table described in `src/tables/`, implemented by every engine. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { FilterOf, KeyOf, LookupOf, NewRowOf, RowOf } from '../tables/table.ts';

/** Excludes filters that the table does not declare, because a list ignores them. */
export type DeclaredFilter<Filter, Given> = Given & {
  readonly [Name in Exclude<keyof Given & string, keyof Filter>]: never;
};

interface EntityFinds<T> {
  find(key: KeyOf<T>): Awaitable<RowOf<T> | undefined>;
  /** The row whose lookup columns have these values. */
  findBy(
    lookup: LookupOf<T>,
    ...values: readonly (string | number | bigint)[]
  ): Awaitable<RowOf<T> | undefined>;
  /**
   * Rows after the key `after`, in ascending order of the key, or in descending order if the table is newest first.
   * Never reads more than `limit` rows, regardless of the position, the table size and the filter.
   */
  list<Given extends FilterOf<T>>(
    after?: KeyOf<T>,
    limit?: number,
    filter?: DeclaredFilter<FilterOf<T>, Given>,
  ): Awaitable<RowOf<T>[]>;
}

export interface EntityReads<T> extends EntityFinds<T> {
  /** Like `list`, but returns the rows before the key `before`, in descending order of the key. */
  listNewest(before?: KeyOf<T>, limit?: number, filter?: FilterOf<T>): Awaitable<RowOf<T>[]>;
  findMany(keys: readonly KeyOf<T>[]): Awaitable<RowOf<T>[]>;
}

export interface EntityWrites<T> extends EntityFinds<T> {
  /** Adds a row. Assigns the next id if the ids of the table come from a counter. */
  add(row: NewRowOf<T>): Awaitable<RowOf<T>>;
  /** Like `add`, but adds nothing and returns undefined if another row has the same values in a unique index. */
  addUnique(row: NewRowOf<T>): Awaitable<RowOf<T> | undefined>;
  put(row: RowOf<T>): Awaitable<void>;
  update(key: KeyOf<T>, changes: Partial<NewRowOf<T>>): Awaitable<void>;
  remove(key: KeyOf<T>): Awaitable<void>;
}

export function createEntities<Made extends object>(
  tables: { readonly [Name in keyof Made]: unknown },
  make: (table: unknown) => unknown,
): Made {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, make(table)])) as Made;
}
