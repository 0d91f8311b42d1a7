import type { Database } from 'bun:sqlite';
import type { NewOperator, Operator, OperatorStore, OperatorWrites } from '../admin.ts';
import { type OperatorRow, operatorOfRow } from '../admin-rows.ts';
import type { Snapshot } from './snapshot.ts';

const selection = `SELECT id, name, role, last_four AS lastFour, created_at AS createdAt, revoked_at AS revokedAt
  FROM operators`;

export class SqliteOperators implements OperatorStore {
  readonly #snapshot: Snapshot;
  readonly #list;
  readonly #find;
  readonly #findByToken;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#list = database.query<OperatorRow, []>(`${selection} ORDER BY id`);
    this.#find = database.query<OperatorRow, [number]>(`${selection} WHERE id = ?`);
    this.#findByToken = database.query<OperatorRow, [string]>(
      `${selection} WHERE fingerprint = ? AND revoked_at IS NULL`,
    );
  }

  list(): Operator[] {
    return this.#snapshot.read(() => this.#list.all()).map(operatorOfRow);
  }

  find(id: number): Operator | undefined {
    return this.#snapshot.read(() => this.#find.all(id)).map(operatorOfRow)[0];
  }

  findByToken(fingerprint: string): Operator | undefined {
    return this.#snapshot.read(() => this.#findByToken.all(fingerprint)).map(operatorOfRow)[0];
  }
}

export class SqliteOperatorWrites implements OperatorWrites {
  readonly #insert;
  readonly #find;
  readonly #replaceToken;
  readonly #revoke;

  constructor(database: Database) {
    this.#insert = database.query<never, [string, string, string, string, number]>(
      `INSERT INTO operators (name, role, fingerprint, last_four, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING`,
    );
    this.#find = database.query<OperatorRow, [number]>(`${selection} WHERE id = ?`);
    this.#replaceToken = database.query<never, [string, string, number]>(
      'UPDATE operators SET fingerprint = ?, last_four = ? WHERE id = ?',
    );
    this.#revoke = database.query<never, [number, number]>(
      'UPDATE operators SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
    );
  }

  create({ fingerprint, ...shown }: NewOperator): Operator | undefined {
    const { name, role, lastFour, createdAt } = shown;
    const { changes, lastInsertRowid } = this.#insert.run(name, role, fingerprint, lastFour, createdAt);
    return changes === 0 ? undefined : { id: Number(lastInsertRowid), ...shown, revokedAt: null };
  }

  find(id: number): Operator | undefined {
    return this.#find.all(id).map(operatorOfRow)[0];
  }

  replaceToken(id: number, fingerprint: string, lastFour: string): void {
    this.#replaceToken.run(fingerprint, lastFour, id);
  }

  revoke(id: number, at: number): void {
    this.#revoke.run(at, id);
  }
}
