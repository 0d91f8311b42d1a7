import { type Awaitable, andThen } from '../../../domain/awaitable.ts';
import type { NewEvent } from '../../../tables/events.ts';
import { matchesLookup } from '../../../tables/sql.ts';
import { storedResponses } from '../../../tables/stored-responses.ts';
import type { Table } from '../../../tables/table.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import type { GroupRows, Key, Row, RowLookup, TrackedRow } from './rows.ts';

/**
 * A unit read a row that another unit of the group adds. The id of the row is unknown before the commit, so the reading
 * unit runs with the next group.
 */
export class ReadsUncommitted extends Error {}

/** Reads and changes of one unit. The changes are merged into the group's rows after the unit has succeeded. */
export class UnitChanges {
  readonly touched = new Set<TrackedRow | RowLookup>();
  readonly events: NewEvent[] = [];
  /** Responses stored before this time (Unix ms) may be removed. */
  responsesSince: number | undefined;
  readonly #rows: GroupRows;
  readonly #ids: ProvisionalIds;
  readonly #own = new Map<TrackedRow, Row | undefined>();
  readonly #added: TrackedRow[] = [];

  constructor(rows: GroupRows, ids: ProvisionalIds) {
    this.#rows = rows;
    this.#ids = ids;
  }

  nextId(): bigint {
    return this.#ids.next();
  }

  get changesNothing(): boolean {
    return this.#own.size + this.#added.length === 0;
  }

  get addsRows(): boolean {
    return this.#added.length > 0;
  }

  find(table: Table, key: Key): Awaitable<Row | undefined> {
    const added = this.#added.find((cell) => cell.table === table && cell.key === key);
    if (added !== undefined) return added.now;
    return andThen(this.#rows.cell(table, key), (cell) => this.#read(cell));
  }

  /** Finds the matching row, taking the group's changes into account. */
  findBy(table: Table, lookup: string, value: Key): Awaitable<Row | undefined> {
    return andThen(this.#rows.search(table, lookup, value), (search) => {
      this.touched.add(search);
      const { found } = search;
      if (found === undefined) return this.#changedBy(search);
      return andThen(this.find(table, found), (row) =>
        row !== undefined && matchesLookup(table, lookup, value, row) ? row : this.#changedBy(search),
      );
    });
  }

  add(table: Table, key: Key, row: Row): void {
    this.#added.push({ name: `${table.name}:${key}`, table, key, stored: undefined, now: row });
  }

  set(table: Table, key: Key, change: (row: Row | undefined) => Row | undefined): Awaitable<void> {
    const added = this.#added.find((cell) => cell.table === table && cell.key === key);
    if (added !== undefined) {
      added.now = change(added.now);
      return;
    }
    return andThen(this.#rows.cell(table, key), (cell) => {
      const row = change(this.#read(cell));
      if (row !== undefined || cell.stored !== undefined) this.#own.set(cell, row);
    });
  }

  /** Merges the changes into the group's rows. */
  keep(): void {
    for (const [cell, row] of this.#own) this.#rows.change(cell, row);
    for (const { table, key, now } of this.#added) this.touched.add(this.#rows.add(table, key, now));
  }

  #read(cell: TrackedRow): Row | undefined {
    this.touched.add(cell);
    if (this.#own.has(cell)) return this.#own.get(cell);
    const isOfGroup = this.#rows.changed.has(cell);
    // A response stored by the group may contain an id that is not known yet.
    if (isOfGroup && (cell.stored === undefined || cell.table === (storedResponses as Table)))
      throw new ReadsUncommitted();
    return cell.now;
  }

  #changedBy({ table, lookup, value }: RowLookup): Row | undefined {
    const isMatch = (row: Row | undefined) => row !== undefined && matchesLookup(table, lookup, value, row);
    for (const { table: its, now } of this.#added) if (its === table && isMatch(now)) return now;
    for (const [cell, row] of this.#own) if (cell.table === table && isMatch(row)) return row;
    for (const cell of this.#rows.changed) {
      if (cell.table === table && !this.#own.has(cell) && isMatch(cell.now)) return this.#read(cell);
    }
    return undefined;
  }
}
