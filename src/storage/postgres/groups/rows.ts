import type { Awaitable } from '../../../domain/awaitable.ts';
import type { SqlValue, Table } from '../../../tables/table.ts';
import { PostgresEntity } from '../entities/entity.ts';
import type { Runner } from '../statements.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Key = string | bigint | number;

/** A row in the database, and its state after the units of the group have run. */
export interface TrackedRow {
  readonly name: string;
  readonly table: Table;
  readonly key: Key;
  /** The row as it was read; undefined if it does not exist. */
  readonly stored: Row | undefined;
  now: Row | undefined;
}

/** A read by a lookup column, and the key of the row found in the database. */
export interface RowLookup {
  readonly name: string;
  readonly table: Table;
  readonly lookup: string;
  readonly value: SqlValue;
  readonly found: Key | undefined;
}

interface Wanted {
  readonly table: Table;
  readonly lookup: string | undefined;
  /** Promise resolvers of the pending reads, by key or search value. */
  readonly values: Map<Key, (row: Row | undefined) => void>;
}

/** Rows read by a group of units. Each row is read once, and concurrent reads of a table share a statement. */
export class GroupRows {
  readonly #runner: Runner;
  readonly #cells = new Map<string, Awaitable<TrackedRow>>();
  readonly #lookups = new Map<string, Awaitable<RowLookup>>();
  readonly #wanted = new Map<string, Wanted>();
  readonly #changed = new Set<TrackedRow>();
  #failure: { readonly error: unknown } | undefined;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** TrackedRows whose rows the units have changed. */
  get changed(): ReadonlySet<TrackedRow> {
    return this.#changed;
  }

  change(cell: TrackedRow, row: Row | undefined): void {
    cell.now = row;
    this.#changed.add(cell);
  }

  /** Adds a cell for a row that is not in the database. */
  add(table: Table, key: Key, row: Row | undefined): TrackedRow {
    const cell = { name: `${table.name}:${key}`, table, key, stored: undefined, now: row };
    this.#cells.set(cell.name, cell);
    this.#changed.add(cell);
    return cell;
  }

  cell(table: Table, key: Key): Awaitable<TrackedRow> {
    const name = `${table.name}:${key}`;
    const known = this.#cells.get(name);
    if (known !== undefined) return known;
    const made = this.#load(table, undefined, key).then((stored) => this.#cellOf(table, key, stored));
    this.#cells.set(name, made);
    return made;
  }

  search(table: Table, lookup: string, value: Key): Awaitable<RowLookup> {
    const name = `${table.name}.${lookup}:${value}`;
    const known = this.#lookups.get(name);
    if (known !== undefined) return known;
    const made = this.#load(table, lookup, value).then((row) => {
      const found = row === undefined ? undefined : (row[table.key[0] ?? ''] as Key);
      if (row !== undefined && found !== undefined) this.#cellOf(table, found, row);
      const search = { name, table, lookup, value, found };
      this.#lookups.set(name, search);
      return search;
    });
    this.#lookups.set(name, made);
    return made;
  }

  /** Database error from a failed read. It affects the whole group. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  #cellOf(table: Table, key: Key, stored: Row | undefined): TrackedRow {
    const name = `${table.name}:${key}`;
    const known = this.#cells.get(name);
    // A search may have loaded the row in the meantime.
    if (known !== undefined && !(known instanceof Promise)) return known;
    const cell = { name, table, key, stored, now: stored };
    this.#cells.set(name, cell);
    return cell;
  }

  #load(table: Table, lookup: string | undefined, value: Key): Promise<Row | undefined> {
    // Concurrent reads of all units share a statement.
    if (this.#wanted.size === 0) setImmediate(() => this.#read());
    const name = `${table.name}.${lookup ?? ''}`;
    const wanted = this.#wanted.get(name) ?? { table, lookup, values: new Map() };
    this.#wanted.set(name, wanted);
    return new Promise((resolve, reject) => {
      wanted.values.set(value, (row) => (this.#failure ? reject(this.#failure.error) : resolve(row)));
    });
  }

  #read(): void {
    const reads = [...this.#wanted.values()];
    this.#wanted.clear();
    for (const wanted of reads) void this.#settle(wanted);
  }

  async #settle({ table, lookup, values }: Wanted): Promise<void> {
    const entity = new PostgresEntity(table, this.#runner);
    const keys = [...values.keys()];
    const [by = ''] = lookup === undefined ? table.key : (table.lookups[lookup]?.by ?? []);
    let rows: readonly Row[] = [];
    try {
      rows = (await (lookup === undefined
        ? entity.findMany(keys as never)
        : entity.findManyBy(lookup as never, keys))) as readonly Row[];
    } catch (error) {
      this.#failure ??= { error };
    }
    const found = new Map(rows.map((row) => [String(row[by]), row]));
    for (const [value, resolve] of values) resolve(found.get(String(value)));
  }
}
