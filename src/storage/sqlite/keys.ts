import type { Database } from 'bun:sqlite';
import { type Scope, scopesText } from '../../domain/scope.ts';
import { folded } from '../account-row.ts';
import { CallerReader, type CallerRow, type KeyRow, keyOfRow } from '../key-row.ts';
import type { Caller, FirstAccount, Key, KeyFingerprint, KeyStore, NewKey } from '../storage.ts';
import type { KeyWrites } from '../transaction.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const columns = `id, account_id AS accountId, name, last_four AS lastFour, scopes, created_at AS createdAt,
  expires_at AS expiresAt, revoked_at AS revokedAt, successor_id AS successorId`;
const selection = `SELECT ${columns} FROM keys`;

export class SqliteKeys implements KeyStore {
  readonly #snapshot: Snapshot;
  readonly #reader = new CallerReader();
  readonly #list;
  readonly #listByAccount;
  readonly #find;
  readonly #findMany;
  readonly #fingerprints;
  readonly #findCaller;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#list = database.query<KeyRow, [number, number]>(`${selection} WHERE id > ? ORDER BY id LIMIT ?`);
    this.#listByAccount = database.query<KeyRow, [number, number, number]>(
      `${selection} WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#find = database.query<KeyRow, [number]>(`${selection} WHERE id = ?`);
    this.#findMany = database.query<KeyRow, [string]>(
      `${selection} WHERE id IN (SELECT value FROM json_each(?))`,
    );
    this.#fingerprints = database.query<{ id: bigint; fingerprint: string }, [number, number]>(
      'SELECT id, fingerprint FROM keys WHERE id >= ? ORDER BY id LIMIT ?',
    );
    this.#findCaller = database.query<CallerRow, [string]>(
      `SELECT keys.id AS keyId, account_id AS accountId, scopes, expires_at AS expiresAt,
              plan, per_minute AS perMinute, per_day AS perDay
       FROM keys JOIN accounts ON accounts.id = account_id
       WHERE fingerprint = ? AND revoked_at IS NULL AND closed_at IS NULL`,
    );
  }

  list(after: number, limit: number, accountId?: number): Key[] {
    const rows = this.#snapshot.read(() =>
      accountId === undefined
        ? this.#list.all(after, limit)
        : this.#listByAccount.all(accountId, after, limit),
    );
    return rows.map(keyOfRow);
  }

  find(id: number): Key | undefined {
    const row = this.#snapshot.read(() => this.#find.get(id));
    return row === null ? undefined : keyOfRow(row);
  }

  findMany(ids: readonly number[]): Key[] {
    return this.#snapshot.read(() => this.#findMany.all(JSON.stringify(ids))).map(keyOfRow);
  }

  fingerprints(fromId: number, limit: number): KeyFingerprint[] {
    const rows = this.#snapshot.read(() => this.#fingerprints.all(fromId, limit));
    return rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint }));
  }

  findCaller(fingerprint: string): Caller | undefined {
    const row = this.#snapshot.read(() => this.#findCaller.get(fingerprint));
    return row === null ? undefined : this.#reader.callerOf(row);
  }
}

export class SqliteKeyWrites implements KeyWrites {
  readonly #touch: Touch;
  readonly #find;
  readonly #insert;
  readonly #isLive;
  readonly #end;
  readonly #revoke;
  readonly #setScopes;
  readonly #firstAccount;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#find = database.query<KeyRow, [number]>(`${selection} WHERE id = ?`);
    this.#insert = database.query<never, [number, string, string, string, string, number, number | null]>(
      `INSERT INTO keys (account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#isLive = database.query<unknown, [number, number]>(
      `SELECT 1 FROM keys WHERE id = ? AND revoked_at IS NULL AND successor_id IS NULL
                            AND (expires_at IS NULL OR expires_at > ?)`,
    );
    this.#end = database.query<never, [number, number, number]>(
      'UPDATE keys SET expires_at = min(coalesce(expires_at, 9223372036854775807), ?), successor_id = ? WHERE id = ?',
    );
    this.#revoke = database.query<never, [number, number]>(
      'UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
    );
    this.#setScopes = database.query<never, [string, number]>('UPDATE keys SET scopes = ? WHERE id = ?');
    this.#firstAccount = firstAccount(database);
  }

  find(id: number): Key | undefined {
    return this.#find.all(id).map(keyOfRow)[0];
  }

  create(key: NewKey): Key {
    this.#touch('callers');
    const { fingerprint, ...shown } = key;
    const { lastInsertRowid } = this.#insert.run(
      key.accountId,
      key.name,
      fingerprint,
      key.lastFour,
      scopesText(key.scopes),
      key.createdAt,
      key.expiresAt,
    );
    return { id: Number(lastInsertRowid), ...shown, revokedAt: null, successorId: null };
  }

  createFirst(account: FirstAccount, key: Omit<NewKey, 'accountId'>): Key | undefined {
    const accountId = this.#firstAccount(account);
    return accountId === undefined ? undefined : this.create({ ...key, accountId });
  }

  rotate(oldId: number, oldEndsAt: number, successor: NewKey): Key | undefined {
    if (this.#isLive.all(oldId, successor.createdAt).length === 0) return undefined;
    const made = this.create(successor);
    this.#end.run(oldEndsAt, made.id, oldId);
    return made;
  }

  revoke(id: number, at: number): boolean {
    const isThere = this.#revoke.run(at, id).changes > 0;
    if (isThere) this.#touch('callers');
    return isThere;
  }

  setScopes(id: number, scopes: readonly Scope[]): boolean {
    const isThere = this.#setScopes.run(scopesText(scopes), id).changes > 0;
    if (isThere) this.#touch('callers');
    return isThere;
  }
}

/** The account of a store's first key: made unless it stands there already; undefined unless the store is empty else. */
function firstAccount(database: Database) {
  const anyKey = database.query<unknown, []>('SELECT 1 FROM keys LIMIT 1');
  const accounts = database.query<{ id: bigint; name: string; plan: string }, []>(
    'SELECT id, name, plan FROM accounts LIMIT 2',
  );
  const insert = database.query<never, [string, string, string, number]>(
    'INSERT INTO accounts (name, name_folded, plan, created_at) VALUES (?, ?, ?, ?)',
  );
  return ({ name, plan, createdAt }: FirstAccount): number | undefined => {
    if (anyKey.all().length > 0) return undefined;
    const [only, ...others] = accounts.all();
    const isOurs = only === undefined || (only.name === name && only.plan === plan);
    if (!isOurs || others.length > 0) return undefined;
    return Number(only?.id ?? insert.run(name, folded(name), plan, createdAt).lastInsertRowid);
  };
}
