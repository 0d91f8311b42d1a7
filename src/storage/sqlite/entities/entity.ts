import type { Changes as Changed, Database, Statement } from 'bun:sqlite';
import { type JsonRows, toJsonRows } from '../../../domain/json-rows.ts';
import type { Resource } from '../../../domain/resources.ts';
import {
  createRowReader,
  fromClause,
  jsonColumns,
  listOrder,
  listPlan,
  listSetFilters,
  lookupCondition,
  selectColumns,
  sqlKeyColumns,
  sqlName,
  toAddedRow,
  toStoredValues,
} from '../../../tables/sql.ts';
import type { FilterOf, KeyOf, LookupOf, NewRowOf, RowOf, SqlValue, Table } from '../../../tables/table.ts';
import type { EntityReads, EntityWrites } from '../../entity.ts';

/** Runs a read in the snapshot of the event-loop tick, or within a transaction. */
export type RunRead = <Result>(work: () => Result) => Result;

/** Marks a resource, so that the commit raises its version. */
export type MarkChanged = (resource: Resource) => void;

interface Connected {
  readonly read?: RunRead;
  readonly touch?: MarkChanged;
}

type Prepared = Statement<unknown, SqlValue[]>;

interface JsonRow {
  readonly json: string;
  readonly count: bigint;
}

interface PreparedList {
  readonly statement: Prepared;
  /** The columns whose filter values are the first parameters. */
  readonly equal: readonly string[];
}

/** Whether a list is read as rows or as JSON. */
type Form = 'rows' | 'json';

export class SqliteEntity<T> implements EntityReads<T>, EntityWrites<T> {
  protected readonly database: Database;
  protected readonly read: RunRead;
  protected readonly rowsOf: (found: readonly unknown[]) => RowOf<T>[];
  protected readonly select: string;
  readonly #touch: MarkChanged;
  readonly #table: Table;
  readonly #ofKey: string;
  readonly #find: Prepared;
  readonly #first: (statement: Prepared, key: SqlValue) => unknown;
  readonly #lists = new Map<string, PreparedList>();

  constructor(database: Database, table: T, { read, touch = () => undefined }: Connected = {}) {
    this.database = database;
    this.read = read ?? ((work) => work());
    // `get` is faster, but leaves the statement open until the snapshot is released. A writer has no snapshot, so an
    // open statement would make the WAL grow.
    this.#first = read ? (statement, key) => statement.get(key) : (statement, key) => statement.all(key)[0];
    this.#touch = touch;
    this.#table = table as Table;
    this.rowsOf = createRowReader(table as Table<RowOf<T>, never>);
    this.select = `SELECT ${selectColumns(this.#table)} FROM ${fromClause(this.#table)}`;
    this.#ofKey = `WHERE ${this.#table.key.map(sqlName)} = ?1`;
    this.#find = this.prepare(`${this.select} ${this.#ofKey}`);
  }

  protected prepare(statement: string): Prepared {
    return this.database.query<unknown, SqlValue[]>(statement);
  }

  protected rows(statement: Prepared, ...values: SqlValue[]): RowOf<T>[] {
    return this.rowsOf(this.read(() => statement.all(...values)));
  }

  find(key: KeyOf<T>): RowOf<T> | undefined {
    const found = this.read(() => this.#first(this.#find, key as SqlValue));
    return found === null || found === undefined ? undefined : this.rowsOf([found])[0];
  }

  findMany(keys: readonly KeyOf<T>[]): RowOf<T>[] {
    const [key] = sqlKeyColumns(this.#table);
    const listed = `SELECT CAST(value AS ${key?.type}) FROM json_each(?1)`;
    const statement = this.prepare(`${this.select} WHERE ${key?.name} IN (${listed})`);
    return this.rows(statement, JSON.stringify(keys.map(String)));
  }

  findBy(lookup: LookupOf<T>, ...values: readonly SqlValue[]): RowOf<T> | undefined {
    const found = lookupCondition(this.#table, lookup, (column, index) => `${column} = ?${index + 1}`);
    return this.rows(this.prepare(`${this.select} WHERE ${found}`), ...values)[0];
  }

  list(after?: KeyOf<T>, limit = Number.MAX_SAFE_INTEGER, filter?: FilterOf<T>): RowOf<T>[] {
    const { isNewestFirst } = this.#table;
    const { statement, values } = this.#listOf('rows', isNewestFirst, after, filter);
    return this.rows(statement, ...values, limit);
  }

  listNewest(before?: KeyOf<T>, limit = Number.MAX_SAFE_INTEGER, filter?: FilterOf<T>): RowOf<T>[] {
    const { statement, values } = this.#listOf('rows', true, before, filter);
    return this.rows(statement, ...values, limit);
  }

  /** Like `list`, but returns JSON. */
  listJson(after: KeyOf<T> | undefined, limit: number, filter?: FilterOf<T>): JsonRows {
    const { statement, values } = this.#listOf('json', this.#table.isNewestFirst, after, filter);
    const { json, count } = this.read(() => statement.get(...values, limit + 1)) as JsonRow;
    return toJsonRows(json, Number(count), limit);
  }

  #listOf(form: Form, isDescending: boolean, after: KeyOf<T> | undefined, filter: FilterOf<T> | undefined) {
    const given = filter as Readonly<Record<string, SqlValue>> | undefined;
    const filtered = listSetFilters(this.#table, given);
    const { statement, equal } = this.#prepared(form, filtered, after !== undefined, isDescending);
    const values = equal.map((name) => given?.[name] ?? null);
    if (after !== undefined) values.push(after as SqlValue);
    return { statement, values };
  }

  #prepared(
    form: Form,
    filtered: readonly string[],
    isContinued: boolean,
    isDescending: boolean,
  ): PreparedList {
    const name = `${form} ${filtered} ${isContinued} ${isDescending}`;
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    const { equal, merged } = listPlan(this.#table, filtered);
    const { direction, behind: sign } = listOrder(isDescending);
    const conditions = equal.map((column, index) => `${sqlName(column)} = ?${index + 1}`);
    const key = this.#table.key.map(sqlName);
    const places = equal.length + (isContinued ? 1 : 0);
    const behind = isContinued ? [`${key} ${sign} ?${places}`] : [];
    const range = (also: readonly string[]) => {
      const all = [...conditions, ...also, ...behind];
      return all.length === 0 ? this.select : `${this.select} WHERE ${all.join(' AND ')}`;
    };
    // Reads at most one page of rows from each range.
    const ranges = merged?.values.map((value) => range([`${sqlName(merged.name)} = '${value}'`])) ?? [
      range([]),
    ];
    const text = `${ranges.join(' UNION ALL ')} ORDER BY ${key}${direction} LIMIT ?${places + 1}`;
    const list = {
      statement: this.prepare(form === 'rows' ? text : this.#asJson(text)),
      equal,
    };
    this.#lists.set(name, list);
    return list;
  }

  /** A statement that selects the rows of another statement as one JSON array, and their number. */
  #asJson(rows: string): string {
    const members = jsonColumns(this.#table).map(({ name }) => `'${name}', "${name}"`);
    return `SELECT json_group_array(json_object(${members})) AS json, count(*) AS count FROM (${rows})`;
  }

  add(row: NewRowOf<T>): RowOf<T> {
    const { lastInsertRowid } = this.#insert(row, '');
    return toAddedRow(this.#table, row as object, lastInsertRowid) as RowOf<T>;
  }

  addUnique(row: NewRowOf<T>): RowOf<T> | undefined {
    const { changes, lastInsertRowid } = this.#insert(row, 'ON CONFLICT DO NOTHING');
    return changes === 0 ? undefined : (toAddedRow(this.#table, row as object, lastInsertRowid) as RowOf<T>);
  }

  put(row: RowOf<T>): void {
    const key = sqlKeyColumns(this.#table).map(({ name }) => name);
    const others = toStoredValues(this.#table, row as object).filter(({ name }) => !key.includes(name));
    const assignments = others.map(({ name }) => `${name} = excluded.${name}`);
    const change = others.length === 0 ? 'DO NOTHING' : `DO UPDATE SET ${assignments.join(', ')}`;
    this.#insert(row, `ON CONFLICT (${key}) ${change}`);
  }

  #insert(row: unknown, conflict: string): Changed {
    const { name, resource, raisesOnInsert } = this.#table;
    if (resource !== undefined && raisesOnInsert) this.#touch(resource);
    const stored = toStoredValues(this.#table, row as object);
    const columns = stored.map((column) => column.name).join(', ');
    const places = stored.map((_, index) => `?${index + 1}`).join(', ');
    const statement = this.prepare(`INSERT INTO ${name} (${columns}) VALUES (${places}) ${conflict}`);
    return statement.run(...stored.map(({ value }) => value));
  }

  update(key: KeyOf<T>, changes: Partial<NewRowOf<T>>): void {
    const stored = toStoredValues(this.#table, changes);
    const assignments = stored.map(({ name }, index) => `${name} = ?${index + 2}`).join(', ');
    this.#change(
      `UPDATE ${this.#table.name} SET ${assignments}`,
      key,
      stored.map(({ value }) => value),
    );
  }

  remove(key: KeyOf<T>): void {
    this.#change(`DELETE FROM ${this.#table.name}`, key);
  }

  #change(statement: string, key: KeyOf<T>, values: readonly SqlValue[] = []): void {
    if (this.#table.resource !== undefined) this.#touch(this.#table.resource);
    this.prepare(`${statement} ${this.#ofKey}`).run(key as SqlValue, ...values);
  }
}
