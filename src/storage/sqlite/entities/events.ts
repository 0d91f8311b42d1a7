import type { Database } from 'bun:sqlite';
import { events, type NewEvent, type StoredEvent } from '../../../tables/events.ts';
import { eventStatements, pruneEvents } from '../../queries/events.ts';
import type { EventBounds, EventStore } from '../../storage.ts';
import type { EventWrites } from '../../transaction.ts';
import { SqliteEngine } from '../engine.ts';
import { type RunRead, SqliteEntity } from './entity.ts';
import { batchInsert } from './inserts.ts';

export class SqliteEvents extends SqliteEntity<typeof events> implements EventStore {
  readonly #newest;
  readonly #bounds;

  constructor(database: Database, read: RunRead) {
    super(database, events, { read });
    this.#newest = this.prepare(`${this.select} WHERE id < ?2 ORDER BY id DESC LIMIT ?1`);
    this.#bounds = database.query<{ oldest: bigint | null; last: bigint | null }, []>(
      `SELECT (SELECT min(id) FROM events) AS oldest, (SELECT last FROM counters WHERE name = 'events') AS last`,
    );
  }

  newest(limit: number, before = 2n ** 63n - 1n): StoredEvent[] {
    return this.rows(this.#newest, limit, before);
  }

  bounds(): EventBounds {
    const found = this.read(() => this.#bounds.all())[0];
    const last = found?.last ?? 0n;
    return { oldest: found?.oldest ?? last + 1n, last };
  }
}

export type SqliteEventWrites = ReturnType<typeof eventWrites>;

/** Hand-written, because creating animals is on the hot path. */
export function eventWrites(database: Database, isOn: boolean) {
  const insert = database.query<never, [string, string, number | null, number]>(
    'INSERT INTO events (type, data, account_id, created_at) VALUES (?, ?, ?, ?)',
  );
  const insertAll = batchInsert(database, 'events', ['type', 'data', 'account_id', 'created_at']);
  const engine = new SqliteEngine(database);
  engine.prepare(eventStatements(engine));
  const skip = database.query<never, []>("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'events'");
  const begin = database.query<never, []>("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 1)");
  return {
    add: ({ type, data, accountId, createdAt }: NewEvent): void => {
      if (isOn) insert.run(type, data, accountId ?? null, createdAt);
    },
    addAll: (added: readonly NewEvent[]): void => {
      if (!isOn) return;
      insertAll(
        added.flatMap(({ type, data, accountId, createdAt }) => [type, data, accountId ?? null, createdAt]),
      );
    },
    prune: (before: number) => pruneEvents(engine, before),
    skip: () => {
      // If there is no row, no event was ever added.
      if (skip.run().changes === 0) begin.run();
      return true;
    },
  } satisfies EventWrites & { addAll: unknown };
}
