import type { Database } from 'bun:sqlite';
import type { Instance, InstanceStore } from '../admin.ts';
import { type InstanceRow, instanceOfRow } from '../admin-rows.ts';
import type { Snapshot } from './snapshot.ts';

export class SqliteInstances implements InstanceStore {
  readonly #snapshot: Snapshot;
  readonly #list;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#list = database.query<InstanceRow, []>(
      'SELECT name, version, started_at AS startedAt, seen_at AS seenAt FROM instances ORDER BY name',
    );
  }

  list(): Instance[] {
    return this.#snapshot.read(() => this.#list.all()).map(instanceOfRow);
  }
}

export class SqliteInstanceWrites {
  readonly #note;
  readonly #prune;

  constructor(database: Database) {
    this.#note = database.query<never, [string, string, number, number]>(
      `INSERT INTO instances (name, version, started_at, seen_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE
       SET version = excluded.version, started_at = excluded.started_at, seen_at = excluded.seen_at`,
    );
    this.#prune = database.query<never, [number]>('DELETE FROM instances WHERE seen_at < ?');
  }

  note({ name, version, startedAt, seenAt }: Instance): void {
    this.#note.run(name, version, startedAt, seenAt);
  }

  prune(seenBefore: number): void {
    this.#prune.run(seenBefore);
  }
}
