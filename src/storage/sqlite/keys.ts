import type { Database } from 'bun:sqlite';
import { type QuotaColumns, quotaOfRow } from '../account-row.ts';
import { type KeyRow, keyOfRow } from '../key-row.ts';
import type { Caller, FirstAccount, Key, KeyFingerprint, KeyStore, NewKey } from '../storage.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

type CallerRow = QuotaColumns & { keyId: bigint; accountId: bigint; expiresAt: bigint | null };

const columns = `id, account_id AS accountId, name, last_four AS lastFour, created_at AS createdAt,
  expires_at AS expiresAt, revoked_at AS revokedAt, successor_id AS successorId`;

export class SqliteKeys implements KeyStore {
  /** Rises with every write of this process. */
  writes = 0;
  readonly #format: FormatWatch;
  readonly #insert;
  readonly #list;
  readonly #find;
  readonly #fingerprints;
  readonly #findCaller;
  readonly #revoke;
  readonly #rotate: (oldId: number, oldEndsAt: number, successor: NewKey) => Key | undefined;
  readonly #createFirst: (account: FirstAccount, key: Omit<NewKey, 'accountId'>) => Key | undefined;

  constructor(database: Database, format: FormatWatch) {
    this.#format = format;
    this.#insert = database.query<never, [number, string, string, string, number, number | null]>(
      `INSERT INTO keys (account_id, name, fingerprint, last_four, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#list = database.query<KeyRow, []>(`SELECT ${columns} FROM keys ORDER BY id`);
    this.#find = database.query<KeyRow, [number]>(`SELECT ${columns} FROM keys WHERE id = ?`);
    this.#fingerprints = database.query<{ id: bigint; fingerprint: string }, [number, number]>(
      'SELECT id, fingerprint FROM keys WHERE id >= ? ORDER BY id LIMIT ?',
    );
    this.#findCaller = database.query<CallerRow, [string]>(
      `SELECT keys.id AS keyId, account_id AS accountId, expires_at AS expiresAt,
              plan, per_minute AS perMinute, per_day AS perDay
       FROM keys JOIN accounts ON accounts.id = account_id
       WHERE fingerprint = ? AND revoked_at IS NULL`,
    );
    this.#revoke = database.query<never, [number, number]>(
      'UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
    );
    const isLive = database.query<unknown, [number, number]>(
      `SELECT 1 FROM keys WHERE id = ? AND revoked_at IS NULL AND successor_id IS NULL
                            AND (expires_at IS NULL OR expires_at > ?)`,
    );
    const end = database.query<never, [number, number, number]>(
      'UPDATE keys SET expires_at = min(coalesce(expires_at, 9223372036854775807), ?), successor_id = ? WHERE id = ?',
    );
    this.#rotate = database.transaction((oldId: number, oldEndsAt: number, successor: NewKey) => {
      if (isLive.get(oldId, successor.createdAt) === null) return undefined;
      const made = this.create(successor);
      end.run(oldEndsAt, made.id, oldId);
      return made;
    }).immediate;
    this.#createFirst = firstStart(database, (key) => this.create(key));
  }

  create(key: NewKey): Key {
    const { fingerprint, ...shown } = key;
    const { lastInsertRowid } = attempt(() =>
      this.#insert.run(key.accountId, key.name, fingerprint, key.lastFour, key.createdAt, key.expiresAt),
    );
    this.writes++;
    return { id: Number(lastInsertRowid), ...shown, revokedAt: null, successorId: null };
  }

  createFirst(account: FirstAccount, key: Omit<NewKey, 'accountId'>): Key | undefined {
    return attempt(() => this.#createFirst(account, key));
  }

  list(): Key[] {
    return attempt(() => this.#list.all()).map(keyOfRow);
  }

  find(id: number): Key | undefined {
    const row = attempt(() => this.#find.get(id));
    return row === null ? undefined : keyOfRow(row);
  }

  fingerprints(fromId: number, limit: number): KeyFingerprint[] {
    const rows = attempt(() => this.#fingerprints.all(fromId, limit));
    return rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint }));
  }

  findCaller(fingerprint: string): Caller | undefined {
    const row = attempt(() => this.#findCaller.get(fingerprint), this.#format);
    if (row === null) return undefined;
    const expiresAt = row.expiresAt === null ? Number.POSITIVE_INFINITY : Number(row.expiresAt);
    return { keyId: Number(row.keyId), accountId: Number(row.accountId), quota: quotaOfRow(row), expiresAt };
  }

  rotate(oldId: number, oldEndsAt: number, successor: NewKey): Key | undefined {
    return attempt(() => this.#rotate(oldId, oldEndsAt, successor));
  }

  revoke(id: number, at: number): boolean {
    const { changes } = attempt(() => this.#revoke.run(at, id));
    this.writes++;
    return changes > 0;
  }
}

/** One transaction that makes an empty store's first key, and the account for it unless it stands there already. */
function firstStart(database: Database, create: (key: NewKey) => Key) {
  const anyKey = database.query<unknown, []>('SELECT 1 FROM keys LIMIT 1');
  const accounts = database.query<{ id: bigint; name: string; plan: string }, []>(
    'SELECT id, name, plan FROM accounts LIMIT 2',
  );
  const insert = database.query<never, [string, string, number]>(
    'INSERT INTO accounts (name, plan, created_at) VALUES (?, ?, ?)',
  );
  const make = ({ name, plan, createdAt }: FirstAccount, key: Omit<NewKey, 'accountId'>) => {
    if (anyKey.get() !== null) return undefined;
    const [only, ...others] = accounts.all();
    const isOurs = only === undefined || (only.name === name && only.plan === plan);
    if (!isOurs || others.length > 0) return undefined;
    const accountId = only?.id ?? insert.run(name, plan, createdAt).lastInsertRowid;
    return create({ ...key, accountId: Number(accountId) });
  };
  return database.transaction(make).immediate;
}
