import type { Resource } from '../../../domain/resources.ts';
import { toStoredValues } from '../../../tables/sql.ts';
import { storedResponses } from '../../../tables/stored-responses.ts';
import type { Table } from '../../../tables/table.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import type { GroupRows, RowLookup, TrackedRow } from './rows.ts';
import {
  idMark,
  mayReferenceAddedIds,
  parts,
  shaped,
  type TableChange,
  type TablePart,
} from './statement.ts';
import type { UnitChanges } from './unit-changes.ts';
import type { Component, SettledUnit } from './units.ts';

/** A group's changes, and the parameters of its statement. */
export interface Change {
  readonly tables: readonly TablePart[];
  readonly resources: readonly Resource[];
  /** Provisional ids of added rows, by counter, in the order in which real ids are assigned. */
  readonly added: ReadonlyMap<string, readonly bigint[]>;
  /** JSON of the data that contains no id of an added row. */
  readonly json: string;
  /** JSON of the other rows, with a mark in place of each id of an added row. */
  readonly marked: string;
}

type Member = Readonly<Record<string, unknown>>;

type Part = { -readonly [Name in keyof TableChange]: TableChange[Name] };

/** Returns undefined if the group has nothing to store or verify. */
export function groupChange(
  components: readonly Component<SettledUnit>[],
  rows: GroupRows,
  ids: ProvisionalIds,
): Change | undefined {
  const stored = components.filter(({ units }) => units.some(({ changes }) => isVerified(changes, rows)));
  if (stored.length === 0) return undefined;
  const builder = new ChangeBuilder(rows, ids);
  for (const { number, units } of stored) {
    for (const touched of new Set(units.flatMap(({ changes }) => [...changes.touched]))) {
      builder.add(number, touched);
    }
    for (const { changes, outcomes } of units) {
      if (outcomes !== undefined) builder.addEvents(number, changes);
    }
  }
  return builder.change;
}

/**
 * A unit that only read a single row needs no verification. A unit that touched several rows must be verified, because
 * it may have read them at different times.
 */
function isVerified({ touched, events }: UnitChanges, rows: GroupRows): boolean {
  if (touched.size > 1 || events.length > 0) return true;
  return [...touched].some((each) => 'key' in each && rows.changed.has(each));
}

/** Converts a value for JSON. Encodes integers as text, because JavaScript numbers would round them. */
const plain = (value: unknown) => (typeof value === 'bigint' ? String(value) : value);

class ChangeBuilder {
  readonly #rows: GroupRows;
  readonly #ids: ProvisionalIds;
  readonly #members = new Map<string, Member[]>();
  /** Rows that may contain the ids of added rows. */
  readonly #marked = new Map<string, Member[]>();
  readonly #tables = new Map<Table, Part>();
  readonly #added = new Map<string, bigint[]>();
  readonly #marks = new Map<bigint, string>();
  readonly #resources = new Set<Resource>();
  #responsesSince = Number.MAX_SAFE_INTEGER;

  constructor(rows: GroupRows, ids: ProvisionalIds) {
    this.#rows = rows;
    this.#ids = ids;
  }

  /** Throws if a row contains an id that the database cannot fill in, so that no provisional id is ever stored. */
  get change(): Change {
    const numbers = Object.fromEntries([...this.#added].map(([name, ids]) => [name, ids.length]));
    const markedResponses = [parts.changed, parts.added].flatMap(
      (part) => this.#marked.get(part(storedResponses as Table)) ?? [],
    );
    const given = {
      ...Object.fromEntries(this.#members),
      numbers,
      responsesSince: this.#responsesSince,
      storedResponses: markedResponses.length,
    };
    return {
      tables: shaped([...this.#tables.values()]),
      resources: [...this.#resources],
      added: this.#added,
      json: this.#ids.replacedIn(JSON.stringify(given), () => undefined),
      marked: this.#ids.replacedIn(JSON.stringify(Object.fromEntries(this.#marked)), (id) =>
        this.#marks.get(id),
      ),
    };
  }

  add(component: number, touched: TrackedRow | RowLookup): void {
    if ('lookup' in touched) {
      const { table, lookup, value, found } = touched;
      this.#part(table);
      this.#push(parts.searched(table, lookup), { component, value: plain(value), found: plain(found) });
      return;
    }
    const { table, stored, now } = touched;
    const isChanged = this.#rows.changed.has(touched);
    const isNumbered = table.isCounted && stored === undefined && isChanged;
    // A row with a new id cannot conflict with other transactions. The id is used up even if the unit removes the row
    // again.
    if (!isNumbered) this.#addRead(component, touched);
    if (isNumbered || (isChanged && now !== stored)) this.#addChanged(component, touched);
  }

  addEvents(component: number, { events, responsesSince }: UnitChanges): void {
    this.#responsesSince = Math.min(this.#responsesSince, responsesSince ?? this.#responsesSince);
    for (const { type, data, accountId, createdAt } of events) {
      const number = (this.#marked.get('events')?.length ?? 0) + 1;
      const event = { type, data, account_id: accountId, created_at: createdAt };
      push(this.#marked, 'events', { component, number, ...event });
    }
  }

  #addRead(component: number, { table, key, stored }: TrackedRow): void {
    this.#part(table);
    const columns =
      stored === undefined ? { [table.key[0] ?? '']: plain(key) } : this.#columns(table, stored);
    this.#push(parts.read(table), { component, is_there: stored !== undefined, ...columns });
  }

  #addChanged(component: number, cell: TrackedRow): void {
    const { table, key, stored, now } = cell;
    const { resource, raisesOnInsert } = table;
    if (resource !== undefined && (stored !== undefined || raisesOnInsert)) {
      this.#resources.add(resource);
      this.#push('counters', { component, name: resource });
    }
    const part = this.#part(table);
    if (stored === undefined) this.#addAdded(component, cell);
    else if (now === undefined) {
      part.isRemoved = true;
      this.#push(parts.removed(table), { component, [table.key[0] ?? '']: plain(key) });
    } else {
      part.isChanged = true;
      const its = mayReferenceAddedIds(table) ? this.#marked : this.#members;
      push(its, parts.changed(table), { component, ...this.#columns(table, now) });
    }
  }

  #addAdded(component: number, { table, key, now }: TrackedRow): void {
    if (table.isCounted) {
      const ids = this.#added.get(table.name) ?? [];
      this.#marks.set(key as bigint, idMark(table.name, ids.push(key as bigint)));
      this.#added.set(table.name, ids);
      if (table.resource === undefined) this.#push('counters', { component, name: table.name });
    }
    if (now === undefined) return;
    this.#part(table).isAdded = true;
    push(this.#marked, parts.added(table), { component, ...this.#columns(table, now) });
  }

  #columns(table: Table, row: object): Member {
    return Object.fromEntries(toStoredValues(table, row).map(({ name, value }) => [name, plain(value)]));
  }

  #part(table: Table): Part {
    const noChange = { isAdded: false, isChanged: false, isRemoved: false };
    const part = this.#tables.get(table) ?? { table, ...noChange };
    this.#tables.set(table, part);
    return part;
  }

  #push(name: string, member: Member): void {
    push(this.#members, name, member);
  }
}

function push(all: Map<string, Member[]>, name: string, member: Member): void {
  const members = all.get(name);
  if (members === undefined) all.set(name, [member]);
  else members.push(member);
}
