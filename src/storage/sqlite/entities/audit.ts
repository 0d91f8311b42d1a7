import type { Database } from 'bun:sqlite';
import { type AuditEntry, audit } from '../../../tables/operators.ts';
import { rowsReader, selection } from '../../../tables/sql.ts';
import type { AuditFilter, AuditStore } from '../../admin.ts';
import type { ReadIn } from './entity.ts';

/** Where a page begins: before this time and id. */
type Position = [at: number | bigint, id: bigint];

/** A page from `since` (Unix ms) to a position. Names the index, because SQLite would not always choose it. */
const page = (index: string, condition: string) =>
  `SELECT ${selection(audit)} FROM audit INDEXED BY ${index}
   WHERE ${condition} at >= ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?`;

const entriesOf = rowsReader(audit);

export class SqliteAudit implements AuditStore {
  readonly #read: ReadIn;
  readonly #timeOf;
  readonly #list;
  readonly #listByActor;
  readonly #listByObject;
  readonly #listByBoth;

  constructor(database: Database, read: ReadIn) {
    this.#read = read;
    this.#timeOf = database.query<{ at: bigint }, [bigint]>('SELECT at FROM audit WHERE id = ?');
    this.#list = database.query<unknown, [number, ...Position, number]>(page('audit_by_time', ''));
    this.#listByActor = database.query<unknown, [string, number, ...Position, number]>(
      page('audit_by_actor', 'actor = ? AND'),
    );
    this.#listByObject = database.query<unknown, [string, number, ...Position, number]>(
      page('audit_by_object', 'object = ? AND'),
    );
    this.#listByBoth = database.query<unknown, [string, string, number, ...Position, number]>(
      page('audit_by_object_and_actor', 'object = ? AND actor = ? AND'),
    );
  }

  list(before: bigint | undefined, limit: number, filter: AuditFilter): AuditEntry[] {
    return entriesOf(this.#read(() => this.#rows(before, limit, filter)));
  }

  #rows(before: bigint | undefined, limit: number, filter: AuditFilter): unknown[] {
    const { actor, object, since = 0 } = filter;
    const position = this.#position(before, filter.until ?? Number.MAX_SAFE_INTEGER);
    if (actor === undefined) {
      return object === undefined
        ? this.#list.all(since, ...position, limit)
        : this.#listByObject.all(object, since, ...position, limit);
    }
    return object === undefined
      ? this.#listByActor.all(actor, since, ...position, limit)
      : this.#listByBoth.all(object, actor, since, ...position, limit);
  }

  /** Behind the entry that the page follows, or at the end of the time asked for, whichever is earlier. */
  #position(before: bigint | undefined, until: number): Position {
    const at = before === undefined ? undefined : this.#timeOf.get(before)?.at;
    // No entry has the id 0.
    return before === undefined || at === undefined || at >= until ? [until, 0n] : [at, before];
  }
}
