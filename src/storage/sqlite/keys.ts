import type { Database } from 'bun:sqlite';
import { type KeyRow, keyOfRow } from '../key-row.ts';
import type { Caller, Key, KeyStore, NewKey } from '../storage.ts';
import { type QuotaColumns, quotaOfRow } from './accounts.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

type CallerRow = QuotaColumns & { keyId: bigint; accountId: bigint; expiresAt: bigint | null };

const columns = `id, account_id AS accountId, name, last_four AS lastFour, created_at AS createdAt,
  expires_at AS expiresAt, revoked_at AS revokedAt`;

export class SqliteKeys implements KeyStore {
  /** Rises with every write of this process. */
  writes = 0;
  readonly #format: FormatWatch;
  readonly #insert;
  readonly #list;
  readonly #find;
  readonly #findCaller;
  readonly #revoke;
  readonly #rotate: (oldId: number, oldEndsAt: number, successor: NewKey) => Key;

  constructor(database: Database, format: FormatWatch) {
    this.#format = format;
    this.#insert = database.query<never, [number, string, string, string, number, number | null]>(
      `INSERT INTO keys (account_id, name, fingerprint, last_four, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#list = database.query<KeyRow, []>(`SELECT ${columns} FROM keys ORDER BY id`);
    this.#find = database.query<KeyRow, [number]>(`SELECT ${columns} FROM keys WHERE id = ?`);
    this.#findCaller = database.query<CallerRow, [string]>(
      `SELECT keys.id AS keyId, account_id AS accountId, expires_at AS expiresAt,
              plan, per_minute AS perMinute, per_day AS perDay
       FROM keys JOIN accounts ON accounts.id = account_id
       WHERE fingerprint = ? AND revoked_at IS NULL`,
    );
    this.#revoke = database.query<never, [number, number]>(
      'UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
    );
    const end = database.query<never, [number, number]>(
      'UPDATE keys SET expires_at = min(coalesce(expires_at, 9223372036854775807), ?) WHERE id = ?',
    );
    this.#rotate = database.transaction((oldId: number, oldEndsAt: number, successor: NewKey) => {
      end.run(oldEndsAt, oldId);
      return this.create(successor);
    }).immediate;
  }

  create(key: NewKey): Key {
    const { fingerprint, ...shown } = key;
    const { lastInsertRowid } = attempt(() =>
      this.#insert.run(key.accountId, key.name, fingerprint, key.lastFour, key.createdAt, key.expiresAt),
    );
    this.writes++;
    return { id: Number(lastInsertRowid), ...shown, revokedAt: null };
  }

  list(): Key[] {
    return attempt(() => this.#list.all()).map(keyOfRow);
  }

  find(id: number): Key | undefined {
    const row = attempt(() => this.#find.get(id));
    return row === null ? undefined : keyOfRow(row);
  }

  findCaller(fingerprint: string): Caller | undefined {
    const row = attempt(() => this.#findCaller.get(fingerprint), this.#format);
    if (row === null) return undefined;
    const expiresAt = row.expiresAt === null ? Number.POSITIVE_INFINITY : Number(row.expiresAt);
    return { keyId: Number(row.keyId), accountId: Number(row.accountId), quota: quotaOfRow(row), expiresAt };
  }

  rotate(oldId: number, oldEndsAt: number, successor: NewKey): Key {
    return attempt(() => this.#rotate(oldId, oldEndsAt, successor));
  }

  revoke(id: number, at: number): boolean {
    const { changes } = attempt(() => this.#revoke.run(at, id));
    this.writes++;
    return changes > 0;
  }
}
