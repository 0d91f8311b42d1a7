import type { Database } from 'bun:sqlite';
import type { Session, SessionStore, SessionWrites } from '../admin.ts';
import { type SessionRow, sessionOfRow } from '../admin-rows.ts';
import type { Snapshot } from './snapshot.ts';

export class SqliteSessions implements SessionStore {
  readonly #snapshot: Snapshot;
  readonly #find;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#find = database.query<SessionRow, [string]>(
      `SELECT fingerprint, operator_id AS operatorId, actor, role, used_at AS usedAt, expires_at AS expiresAt
       FROM sessions WHERE fingerprint = ?`,
    );
  }

  find(fingerprint: string): Session | undefined {
    return this.#snapshot.read(() => this.#find.all(fingerprint)).map(sessionOfRow)[0];
  }
}

export class SqliteSessionWrites implements SessionWrites {
  readonly #insert;
  readonly #use;
  readonly #remove;
  readonly #removeOf;
  readonly #removeUnused;
  readonly #removeExpired;

  constructor(database: Database) {
    this.#insert = database.query<never, [string, number | null, string, string, number, number]>(
      `INSERT INTO sessions (fingerprint, operator_id, actor, role, used_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#use = database.query<never, [number, string]>(
      'UPDATE sessions SET used_at = max(used_at, ?) WHERE fingerprint = ?',
    );
    this.#remove = database.query<never, [string]>('DELETE FROM sessions WHERE fingerprint = ?');
    this.#removeOf = database.query<never, [number]>('DELETE FROM sessions WHERE operator_id = ?');
    this.#removeUnused = database.query<never, [number]>('DELETE FROM sessions WHERE used_at < ?');
    this.#removeExpired = database.query<never, [number]>('DELETE FROM sessions WHERE expires_at <= ?');
  }

  add({ fingerprint, operatorId, actor, role, usedAt, expiresAt }: Session): void {
    this.#insert.run(fingerprint, operatorId ?? null, actor, role, usedAt, expiresAt);
  }

  use(fingerprint: string, usedAt: number): void {
    this.#use.run(usedAt, fingerprint);
  }

  remove(fingerprint: string): void {
    this.#remove.run(fingerprint);
  }

  removeOf(operatorId: number): void {
    this.#removeOf.run(operatorId);
  }

  removeOld(usedBefore: number, now: number): void {
    this.#removeUnused.run(usedBefore);
    this.#removeExpired.run(now);
  }
}
