/**
 * Describes a table. TypeScript types, the SQL of both engines, `copy`, and the schema that the migrations must produce
 * are derived from the description.
 */
import type { Resource } from '../domain/resources.ts';

/** A value in SQL. SQLite stores a boolean as 0 or 1. */
export type SqlValue = bigint | number | string | boolean | null;

export type SqlType = 'integer' | 'text' | 'boolean';

type Presence = 'required' | 'nullable' | 'optional' | 'secret';

export interface Column<Value = unknown, Is extends Presence = Presence> {
  readonly type: SqlType;
  readonly is: Is;
  readonly values?: readonly string[];
  /** Converts a stored value other than NULL. Omitted if no conversion is needed. */
  readonly read?: (stored: never) => Value;
  readonly write?: (value: never) => SqlValue;
}

export const int64 = { type: 'integer', is: 'required' } as Column<bigint, 'required'>;

/** An integer within ±2^53. Used for counts, times in Unix ms, and ids of accounts, keys and operators. */
export const integer: Column<number, 'required'> = { type: 'integer', is: 'required', read: Number };

export const boolean: Column<boolean, 'required'> = {
  type: 'boolean',
  is: 'required',
  read: (stored: bigint | boolean) => stored === true || stored === 1n,
};

export const text = { type: 'text', is: 'required' } as Column<string, 'required'>;

export const oneOf = <Value extends string>(values: readonly Value[]): Column<Value, 'required'> => ({
  type: 'text',
  is: 'required',
  values,
});

export const textColumn = <Value>(
  read: (stored: string) => Value,
  write: (value: Value) => string,
): Column<Value, 'required'> => ({ type: 'text', is: 'required', read, write });

/** Reads NULL as `null`. */
export const nullable = <Value>(column: Column<Value, 'required'>): Column<Value | null, 'nullable'> => ({
  ...column,
  is: 'nullable',
});

/** Reads NULL as `undefined`. */
export const optional = <Value>(
  column: Column<Value, 'required'>,
): Column<Value | undefined, 'optional'> => ({
  ...column,
  is: 'optional',
});

/** A column that is written and searched, but never read. */
export const secret = <Value>(column: Column<Value, 'required'>): Column<Value, 'secret'> => ({
  ...column,
  is: 'secret',
});

type Columns = Readonly<Record<string, Column>>;

type ColumnValue<C> = C extends Column<infer Value, Presence> ? Value : never;
type ColumnNames<C extends Columns, Is extends Presence> = {
  [Name in keyof C]: C[Name] extends Column<unknown, Is> ? Name : never;
}[keyof C];
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

type ColumnsRow<C extends Columns> = Flat<
  { readonly [Name in ColumnNames<C, 'required' | 'nullable'>]: ColumnValue<C[Name]> } & {
    readonly [Name in ColumnNames<C, 'optional'>]?: ColumnValue<C[Name]>;
  }
>;

/** The values to store for a row. Nullable columns may be omitted. */
type NewColumnsRow<C extends Columns> = Flat<
  { readonly [Name in ColumnNames<C, 'required' | 'secret'>]: ColumnValue<C[Name]> } & {
    readonly [Name in ColumnNames<C, 'nullable' | 'optional'>]?: ColumnValue<C[Name]> | undefined;
  }
>;

/** A lookup by a unique index other than the primary key. With a condition, the index is partial. */
interface Lookup<Name = string> {
  readonly by: readonly Name[];
  /** Columns that must be NULL or have one of the given values, as in the WHERE clause of the partial unique index. */
  readonly where?: readonly { readonly name: Name; readonly is: null | readonly string[] }[];
}

interface Description<C extends Columns> {
  /** The columns of the primary key. Defaults to `id`. */
  readonly key?: readonly (keyof C & string)[];
  /** Whether the table's counter assigns the ids and never reuses them. */
  readonly isCounted?: boolean;
  /** Whether lists begin with the highest key. */
  readonly isNewestFirst?: boolean;
  /** Indexes for lists: the columns to filter by, followed by the key. */
  readonly indexes?: readonly (readonly (keyof C & string)[])[];
  /** Columns by which lists can be filtered, in any combination. Each combination requires an index. */
  readonly filters?: readonly (keyof C & string)[];
  readonly lookups?: Readonly<Record<string, Lookup<keyof C & string>>>;
  /** Foreign keys: columns that contain the key of another table. */
  readonly references?: { readonly [Name in keyof C & string]?: string };
  /** Rows with this value are deleted. Reads omit them until a background task has removed them. */
  readonly deleted?: { readonly name: keyof C & string; readonly is: number };
  /** The resource whose version increases with every change to a row. */
  readonly resource?: Resource;
  /** Reason why adding a row does not change the version. */
  readonly unversionedInsert?: string;
  /** Reason why `copy` skips the rows. */
  readonly notCopied?: string;
  /** Reason why PostgreSQL runs units that use the table in a transaction, and not in memory as part of a group. */
  readonly notGrouped?: string;
}

/** A table and its description. `Row` is the type of rows that are read, `New` the type of rows to insert. */
export interface Table<Row = unknown, New = never, Filter = unknown, LookupName extends string = string> {
  readonly name: string;
  readonly columns: Columns;
  readonly key: readonly string[];
  readonly isCounted: boolean;
  readonly isNewestFirst: boolean;
  readonly indexes: readonly (readonly string[])[];
  readonly filters: readonly string[];
  readonly lookups: Readonly<Record<string, Lookup>>;
  readonly references: Readonly<Record<string, string>>;
  readonly deleted?: { readonly name: string; readonly is: number };
  readonly resource?: Resource;
  readonly raisesOnInsert: boolean;
  readonly notCopied?: string;
  readonly notGrouped: string | undefined;
  /** Conversions for rows whose structure differs from the columns. */
  readonly shape?: Shape<Row, New> | undefined;
  /** Exists only at the type level. */
  readonly types?: { readonly filter: Filter; readonly lookup: LookupName };
}

interface Shape<Row, New> {
  readonly read: (row: never) => Row;
  /** Some or all stored values of a row. */
  readonly write: (row: Partial<New>) => Readonly<Record<string, unknown>>;
}

export type NoFilters = Readonly<Record<string, never>>;

type DescribedFilter<C extends Columns, D> = D extends { filters: readonly (infer Name extends keyof C)[] }
  ? { readonly [Each in Name]?: ColumnValue<C[Each]> | undefined }
  : NoFilters;
type DescribedLookup<D> = D extends { lookups: infer All } ? keyof All & string : never;
type DescribedNewRow<C extends Columns, D> = D extends { isCounted: true }
  ? Omit<NewColumnsRow<C>, 'id'>
  : NewColumnsRow<C>;

/** Describes a table. Column names are in camel case here, and in snake case in SQL. */
export function table<C extends Columns, const D extends Description<C> = Description<C>>(
  name: string,
  columns: C,
  description?: D & Description<C>,
): Table<ColumnsRow<C>, DescribedNewRow<C, D>, DescribedFilter<C, D>, DescribedLookup<D>> {
  const { unversionedInsert, references = {}, ...settings }: Description<C> = description ?? {};
  const { isCounted = false, resource, notGrouped } = settings;
  const hasNumericIds = isCounted && columns.id !== int64;
  return {
    ...{ key: ['id'], isCounted, isNewestFirst: false, indexes: [], filters: [], lookups: {} },
    ...{ name, columns, references: references as Readonly<Record<string, string>> },
    ...settings,
    raisesOnInsert: resource !== undefined && unversionedInsert === undefined,
    notGrouped: notGrouped ?? (hasNumericIds ? 'groups assign only int64 ids' : undefined),
  };
}

export function withShape<Row, New, Filter, Name extends string, Columnar>(
  described: Table<Columnar, never, Filter, Name>,
  shape: { read: (row: Columnar) => Row; write: (row: Partial<New>) => Readonly<Record<string, unknown>> },
): Table<Row, New, Filter, Name> {
  return { ...described, shape };
}

export type RowOf<T> = T extends Table<infer Row, never> ? Row : never;
export type NewRowOf<T> = T extends Table<unknown, infer New> ? New : never;
export type FilterOf<T> = T extends Table<unknown, never, infer Filter> ? Filter : never;
export type LookupOf<T> = T extends Table<unknown, never, unknown, infer Name> ? Name : never;
export type KeyOf<T> = RowOf<T> extends { readonly id: infer Id } ? Id : string;
