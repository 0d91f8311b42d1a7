import type { SQL } from 'bun';
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
import type {
  FilterOf,
  KeyOf,
  LookupOf,
  NewRowOf,
  RowOf,
  SqlType,
  SqlValue,
  Table,
} from '../../../tables/table.ts';
import type { EntityReads, EntityWrites } from '../../entity.ts';
import type { Runner, Versioned } from '../statements.ts';
import { incrementVersionCte, incrementVersionSql, versionCounter } from '../versions.ts';

export const casts: Readonly<Record<SqlType, string>> = {
  integer: 'bigint',
  text: 'text',
  boolean: 'boolean',
};

const place = (number: number, type: SqlType) => `$${number}::${casts[type]}`;

/** Matches any value in the JSON array passed as the first parameter. */
export const anyOf = (type: SqlType) =>
  `ANY (ARRAY(SELECT value::${casts[type]} FROM json_array_elements_text($1::text::json) AS value))`;

interface ListText {
  readonly text: string;
  readonly equal: readonly string[];
}

class ReadStatements {
  readonly select: string;
  readonly find: string;
  readonly findMany: string;
  readonly rowsOf: (found: readonly unknown[]) => never[];
  readonly key: string;
  readonly ofKey: string;
  readonly #table: Table;
  readonly #lists = new Map<string, ListText>();

  constructor(table: Table) {
    const [key] = sqlKeyColumns(table);
    this.#table = table;
    this.rowsOf = createRowReader(table) as (found: readonly unknown[]) => never[];
    this.key = key?.name ?? '';
    this.ofKey = `WHERE ${this.key} = ${place(1, key?.type ?? 'integer')}`;
    this.select = `SELECT ${selectColumns(table)} FROM ${fromClause(table)}`;
    this.find = `${this.select} ${this.ofKey}`;
    this.findMany = `${this.select} WHERE ${this.key} = ${anyOf(key?.type ?? 'integer')}`;
  }

  findBy(lookup: string): string {
    return this.#lookup(
      lookup,
      (column, index, name) => `${column} = ${place(index + 1, this.#typeOf(name))}`,
    );
  }

  findManyBy(lookup: string): string {
    return this.#lookup(lookup, (column, _, name) => `${column} = ${anyOf(this.#typeOf(name))}`);
  }

  #lookup(lookup: string, equal: (column: string, index: number, name: string) => string): string {
    return `${this.select} WHERE ${lookupCondition(this.#table, lookup, equal)}`;
  }

  /** A statement that selects the rows of another statement as one JSON array, and their number. */
  asJson(rows: string): string {
    const members = jsonColumns(this.#table).map(({ name, type }) => {
      const value = type === 'text' ? `to_json("${name}")` : `"${name}"`;
      return `'"${name}":' || ${value}`;
    });
    const row = `'{' || ${members.join(" || ',' || ")} || '}'`;
    return `SELECT '[' || coalesce(string_agg(${row}, ',' ORDER BY ${this.key}), '') || ']' AS json, count(*) AS count
      FROM (${rows}) AS rows`;
  }

  list(filtered: readonly string[], isContinued: boolean, isDescending: boolean): ListText {
    const name = `${filtered} ${isContinued} ${isDescending}`;
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    const { equal, merged } = listPlan(this.#table, filtered);
    const limit = `LIMIT $${equal.length + (isContinued ? 2 : 1)}`;
    const order = listOrder(isDescending);
    const ranges = merged?.values.map((value) =>
      this.#range(equal, isContinued, limit, order, [sqlName(merged.name), `'${value}'::text`]),
    );
    const text =
      ranges === undefined
        ? this.#range(equal, isContinued, limit, order)
        : `SELECT * FROM (${ranges.join(' UNION ALL ')}) AS merged ORDER BY ${this.key}${order.direction} ${limit}`;
    const list = { text, equal };
    this.#lists.set(name, list);
    return list;
  }

  /**
   * Selects rows with equal values in the first columns of an index, ordered by key. ORDER BY lists every column of the
   * index. Otherwise, the planner might scan an index on the key alone and read rows with other values. The inner query
   * may return rows outside the range, up to the limit. These rows are discarded.
   */
  #range(
    equal: readonly string[],
    isContinued: boolean,
    limit: string,
    { direction, behind }: ReturnType<typeof listOrder>,
    ...merged: readonly (readonly [column: string, value: string])[]
  ): string {
    const after = place(equal.length + 1, this.#typeOf(this.#table.key[0] ?? ''));
    const fixed = [
      ...equal.map((name, index) => [sqlName(name), place(index + 1, this.#typeOf(name))] as const),
      ...merged,
    ];
    if (fixed.length === 0) {
      return `${this.select} ${isContinued ? `WHERE ${this.key} ${behind} ${after}` : ''} ORDER BY ${this.key}${direction} ${limit}`;
    }
    const index = [...fixed.map(([column]) => column), this.key];
    const values = fixed.map(([, value]) => value);
    const first = direction === '' ? '(-9223372036854775808)::bigint' : '9223372036854775807';
    const begin = isContinued ? [...values, after] : [...values, first];
    const order = index.map((column) => `${column}${direction}`);
    const belongs = fixed.map(([column, value]) => `${column} = ${value}`).join(' AND ');
    return `SELECT ${selectColumns(this.#table)} FROM (
      SELECT * FROM ${fromClause(this.#table)} WHERE (${index}) ${behind}${isContinued ? '' : '='} (${begin}) ORDER BY ${order} ${limit}
    ) AS page WHERE ${belongs}`;
  }

  #typeOf(name: string): SqlType {
    return this.#table.columns[name]?.type ?? 'text';
  }
}

const readStatements = new Map<unknown, ReadStatements>();

function readStatementsFor(table: Table): ReadStatements {
  const known = readStatements.get(table) ?? new ReadStatements(table);
  readStatements.set(table, known);
  return known;
}

export class PostgresEntity<T> implements EntityReads<T>, EntityWrites<T> {
  protected readonly runner: Runner;
  protected readonly texts: ReadStatements;
  readonly #table: Table;

  constructor(table: T, runner: Runner) {
    this.runner = runner;
    this.#table = table as Table;
    this.texts = readStatementsFor(this.#table);
  }

  protected async rows(text: string, ...values: readonly SqlValue[]): Promise<RowOf<T>[]> {
    return this.texts.rowsOf([...(await this.select(text, ...values))]);
  }

  /** Returns the rows of a query in their stored form. */
  protected select(text: string, ...values: readonly SqlValue[]): Promise<unknown[]> {
    const { resource } = this.#table;
    if (resource !== undefined && this.runner.select !== undefined) {
      return this.runner.select({ resource, text, values });
    }
    return this.runner.run((sql): SQL.Query<unknown[]> => sql.unsafe(text, [...values]));
  }

  async find(key: KeyOf<T>): Promise<RowOf<T> | undefined> {
    const [row] = await this.rows(this.texts.find, key as SqlValue);
    return row;
  }

  findMany(keys: readonly KeyOf<T>[]): Promise<RowOf<T>[]> {
    return this.rows(this.texts.findMany, JSON.stringify(keys.map(String)));
  }

  /** Finds rows by values of a lookup column. */
  findManyBy(lookup: LookupOf<T>, values: readonly SqlValue[]): Promise<RowOf<T>[]> {
    return this.rows(this.texts.findManyBy(lookup), JSON.stringify(values.map(String)));
  }

  async findBy(lookup: LookupOf<T>, ...values: readonly SqlValue[]): Promise<RowOf<T> | undefined> {
    const [row] = await this.rows(this.texts.findBy(lookup), ...values);
    return row;
  }

  list(after?: KeyOf<T>, limit = Number.MAX_SAFE_INTEGER, filter?: FilterOf<T>): Promise<RowOf<T>[]> {
    const { text, values } = this.#listOf(this.#table.isNewestFirst, after, filter);
    return this.rows(text, ...values, limit);
  }

  listNewest(before?: KeyOf<T>, limit = Number.MAX_SAFE_INTEGER, filter?: FilterOf<T>): Promise<RowOf<T>[]> {
    const { text, values } = this.#listOf(true, before, filter);
    return this.rows(text, ...values, limit);
  }

  /** Like `list`, but returns JSON. Only for ascending lists. */
  listJson(after: KeyOf<T> | undefined, limit: number, filter?: FilterOf<T>): Promise<JsonRows> {
    const { text, values } = this.#listOf(false, after, filter);
    return this.jsonRows(limit, this.texts.asJson(text), ...values);
  }

  /** Runs a statement that selects `json` with up to `limit` + 1 rows; the limit is its last parameter. */
  protected async jsonRows(limit: number, text: string, ...values: readonly SqlValue[]): Promise<JsonRows> {
    const [row] = await this.select(text, ...values, limit + 1);
    const { json, count } = row as { readonly json: string; readonly count: bigint };
    return toJsonRows(json, Number(count), limit);
  }

  #listOf(isDescending: boolean, after: KeyOf<T> | undefined, filter: FilterOf<T> | undefined) {
    const given = filter as Readonly<Record<string, SqlValue>> | undefined;
    const filtered = listSetFilters(this.#table, given);
    const { text, equal } = this.texts.list(filtered, after !== undefined, isDescending);
    const values = equal.map((name) => given?.[name] ?? null);
    if (after !== undefined) values.push(after as SqlValue);
    return { text, values };
  }

  async add(row: NewRowOf<T>): Promise<RowOf<T>> {
    const added = await this.#insert(row, '');
    if (added === undefined) throw new Error(`The table "counters" has no row "${this.#table.name}".`);
    return added;
  }

  addUnique(row: NewRowOf<T>): Promise<RowOf<T> | undefined> {
    return this.#insert(row, 'ON CONFLICT DO NOTHING');
  }

  async put(row: RowOf<T>): Promise<void> {
    const others = toStoredValues(this.#table, row as object).filter(({ name }) => name !== this.texts.key);
    const assignments = others.map(({ name }) => `${name} = excluded.${name}`);
    const change = others.length === 0 ? 'DO NOTHING' : `DO UPDATE SET ${assignments.join(', ')}`;
    await this.#insert(row, `ON CONFLICT (${this.texts.key}) ${change}`);
  }

  /** Locks the counter's row until the commit, so that rows are committed in the order of their ids. */
  async #insert(row: unknown, conflict: string): Promise<RowOf<T> | undefined> {
    const { name, isCounted, resource, raisesOnInsert } = this.#table;
    const raised = raisesOnInsert ? resource : undefined;
    const stored = toStoredValues(this.#table, row as object);
    const columns = stored.map((column) => column.name);
    const places = stored.map(({ type }, index) => place(index + 1, type));
    // The counter's row may also contain the resource's version, and a statement can update a row only once.
    const isOneRow = isCounted && raised !== undefined && versionCounter(raised) === name;
    const before = [
      isCounted &&
        `taken AS (UPDATE counters SET last = last + 1 ${isOneRow ? `, ${incrementVersionSql}` : ''}
         WHERE name = '${name}' RETURNING last, version)`,
      raised !== undefined && !isOneRow && incrementVersionCte(raised),
    ].filter((expression) => expression !== false);
    const source = [isCounted && 'taken', raised !== undefined && !isOneRow && 'moved'].filter(Boolean);
    const version = isOneRow ? 'taken' : 'moved';
    const text = `${before.length > 0 ? `WITH ${before}` : ''}
      INSERT INTO ${name} (${isCounted ? ['id', ...columns] : columns})
      SELECT ${isCounted ? ['last', ...places] : places} ${source.length > 0 ? `FROM ${source}` : ''} ${conflict}
      RETURNING ${isCounted ? 'id' : '1'}${raised === undefined ? '' : `, (SELECT version FROM ${version}) AS version`}`;
    const [added] = await this.#change<{ id: bigint }>(
      text,
      stored.map(({ value }) => value),
      raised,
    );
    return added && (toAddedRow(this.#table, row as object, added.id) as RowOf<T>);
  }

  async update(key: KeyOf<T>, changes: Partial<NewRowOf<T>>): Promise<void> {
    const { name, resource } = this.#table;
    const stored = toStoredValues(this.#table, changes);
    const assignments = stored.map(
      ({ name: column, type }, index) => `${column} = ${place(index + 2, type)}`,
    );
    const values = [key as SqlValue, ...stored.map(({ value }) => value)];
    await this.#change(
      resource === undefined
        ? `UPDATE ${name} SET ${assignments} ${this.texts.ofKey}`
        : `WITH ${incrementVersionCte(resource)} UPDATE ${name} SET ${assignments} FROM moved ${this.texts.ofKey} RETURNING version`,
      values,
      resource,
    );
  }

  async remove(key: KeyOf<T>): Promise<void> {
    const { name, resource } = this.#table;
    await this.#change(
      resource === undefined
        ? `DELETE FROM ${name} ${this.texts.ofKey}`
        : `WITH ${incrementVersionCte(resource)} DELETE FROM ${name} USING moved ${this.texts.ofKey} RETURNING version`,
      [key as SqlValue],
      resource,
    );
  }

  #change<Row>(text: string, values: readonly SqlValue[], resource: Resource | undefined): Promise<Row[]> {
    const statement = (sql: SQL): SQL.Query<(Row & Versioned)[]> => sql.unsafe(text, [...values]);
    const { runner } = this;
    if (resource === undefined || runner.change === undefined) return runner.run(statement);
    return runner.change(resource, statement);
  }
}
