/** SQL that both engines share, derived from the description of a table. */
import type { Column, SqlType, SqlValue, Table } from './table.ts';

interface SqlColumn {
  readonly name: string;
  readonly type: SqlType;
}

export function sqlName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const findColumn = ({ columns }: Table, name: string) => columns[name] as Column;

/** All columns, starting with the key columns. */
export function sqlColumns(table: Table): SqlColumn[] {
  const names = [...new Set([...table.key, ...Object.keys(table.columns)])];
  return names.map((name) => ({ name: sqlName(name), type: findColumn(table, name).type }));
}

export function sqlKeyColumns(table: Table): SqlColumn[] {
  return sqlColumns(table).slice(0, table.key.length);
}

/** The columns of a SELECT: all except secrets, with the names used in the table description. */
export function selectColumns({ columns }: Table): string {
  return Object.entries(columns)
    .filter(([, { is }]) => is !== 'secret')
    .map(([name]) => (sqlName(name) === name ? name : `${sqlName(name)} AS "${name}"`))
    .join(', ');
}

/** Names in JSON and SQL of the columns of a table whose rows are stored as they appear in JSON, without conversion. */
export function jsonColumns(
  table: Table,
): { readonly name: string; readonly column: string; readonly type: SqlType }[] {
  return Object.entries(table.columns).map(([name, { type, is, read }]) => {
    if (is !== 'required' || read !== undefined || table.shape !== undefined) {
      throw new Error(`Rows of the table "${table.name}" differ from their JSON.`);
    }
    return { name, column: sqlName(name), type };
  });
}

/** The FROM clause of a SELECT, without deleted rows. */
export function fromClause({ name, deleted }: Table): string {
  if (deleted === undefined) return name;
  return `(SELECT * FROM ${name} WHERE ${sqlName(deleted.name)} <> ${deleted.is}) AS ${name}`;
}

/**
 * Converts rows of `selection` in place, because nothing else refers to them. If no column needs conversion, the rows
 * are returned unchanged.
 */
export function createRowReader<Row>({
  columns,
  shape,
}: Table<Row, never>): (found: readonly unknown[]) => Row[] {
  const converted = Object.entries(columns).flatMap(([name, { is, read }]) => {
    const whenNull = is === 'optional' ? undefined : null;
    if (is === 'secret' || (read === undefined && is !== 'optional')) return [];
    return [{ name, whenNull, read: read as ((stored: unknown) => unknown) | undefined }];
  });
  const isPlain = converted.length === 0 && shape === undefined;
  if (isPlain) return (found) => found as Row[];
  const rowOf = (found: unknown) => {
    const row = found as Record<string, unknown>;
    for (const { name, whenNull, read } of converted) {
      const stored = row[name];
      if (stored === null) row[name] = whenNull;
      else if (read !== undefined) row[name] = read(stored);
    }
    return shape === undefined ? (row as Row) : shape.read(row as never);
  };
  return (found) => found.map(rowOf);
}

/** The columns of a whole or partial row with their stored values, in the order of the description. */
export function toStoredValues(table: Table, row: object): (SqlColumn & { readonly value: SqlValue })[] {
  const shaped: Readonly<Record<string, unknown>> = table.shape
    ? table.shape.write(row as never)
    : { ...row };
  return Object.entries(table.columns)
    .filter(([name]) => name in shaped)
    .map(([name, { type, write }]) => {
      const value = (shaped[name] ?? null) as SqlValue;
      return {
        name: sqlName(name),
        type,
        value: value === null || write === undefined ? value : write(value as never),
      };
    });
}

/** The row that `add` returns: without secrets, and with null for missing values. */
export function toAddedRow<Row>(table: Table<Row, never>, row: object, id: number | bigint): Row {
  const { columns, isCounted, shape } = table;
  const counted = isCounted ? { id: columns.id?.read === undefined ? BigInt(id) : Number(id) } : {};
  const added: Record<string, unknown> = { ...counted, ...(shape ? shape.write(row as never) : row) };
  for (const [name, { is }] of Object.entries(columns)) {
    if (is === 'secret') delete added[name];
    if (is === 'nullable') added[name] ??= null;
  }
  return shape ? shape.read(added as never) : (added as Row);
}

/** How to read a filtered list with an index: `equal` are the leading columns, which must equal the filter values. */
interface ListPlan {
  readonly equal: readonly string[];
  /** An index column without a filter. The list merges the ranges for all possible values of this column. */
  readonly merged: { readonly name: string; readonly values: readonly string[] } | undefined;
}

/** The sort direction of a list, and the operator that selects the rows after a given one. */
export function listOrder(isDescending: boolean): {
  readonly direction: '' | ' DESC';
  readonly behind: '>' | '<';
} {
  return isDescending ? { direction: ' DESC', behind: '<' } : { direction: '', behind: '>' };
}

/** Finds the index for a list filtered by these columns. Throws if the description has no such index. */
export function listPlan(table: Table, filtered: readonly string[]): ListPlan {
  if (filtered.length === 0) return { equal: [], merged: undefined };
  const exact = table.indexes.find(
    (index) => index.length === filtered.length && filtered.every((name) => index.includes(name)),
  );
  if (exact !== undefined) return { equal: exact, merged: undefined };
  for (const index of table.indexes) {
    const last = index.at(-1) ?? '';
    const { values } = findColumn(table, last);
    const equal = index.slice(0, -1);
    const isServed = equal.length === filtered.length && filtered.every((name) => equal.includes(name));
    if (isServed && values !== undefined) return { equal, merged: { name: last, values } };
  }
  throw new Error(`The table "${table.name}" has no index for a list filtered by ${filtered.join(' and ')}.`);
}

/** The list filters that are set, in the order of the description. */
export function listSetFilters(
  table: Table,
  filter: Readonly<Record<string, unknown>> | undefined,
): string[] {
  return filter === undefined ? [] : table.filters.filter((name) => filter[name] !== undefined);
}

/** Whether a row has the values of a filter. */
export function matchesFilter<Row extends object>(
  row: Row,
  filter: { readonly [Name in keyof Row]?: Row[Name] | undefined },
): boolean {
  return Object.entries(filter).every(
    ([name, value]) => value === undefined || row[name as keyof Row] === value,
  );
}

/** Converts every integer in a row to a number. Changes the row in place, because nothing else refers to it. */
export function toNumbers<Row>(found: object): Row {
  const row = found as Record<string, unknown>;
  for (const name in row) if (typeof row[name] === 'bigint') row[name] = Number(row[name]);
  return row as Row;
}

/** The SQL condition for a lookup. `equal` returns the SQL that compares a column with the lookup value. */
export function lookupCondition(
  { lookups }: Table,
  lookup: string,
  equal: (column: string, index: number, name: string) => string,
): string {
  const { by = [], where = [] } = lookups[lookup] ?? {};
  const others = where.map(({ name, is }) => {
    const values = is?.map((value) => `'${value}'`).join(', ');
    return values === undefined ? `${sqlName(name)} IS NULL` : `${sqlName(name)} IN (${values})`;
  });
  return [...by.map((name, index) => equal(sqlName(name), index, name)), ...others].join(' AND ');
}

/** Whether the named single-column lookup would return this row for the value. */
export function matchesLookup(
  { lookups }: Table,
  lookup: string,
  value: unknown,
  row: Readonly<Record<string, unknown>>,
): boolean {
  const { by: [name = ''] = [], where = [] } = lookups[lookup] ?? {};
  if (row[name] !== value) return false;
  return where.every(({ name, is }) => (is === null ? row[name] == null : is.includes(String(row[name]))));
}
