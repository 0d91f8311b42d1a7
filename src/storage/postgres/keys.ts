import type { SQL } from 'bun';
import { type KeyRow, keyOfRow } from '../key-row.ts';
import type { Caller, Key, KeyStore, NewKey } from '../storage.ts';
import { type QuotaColumns, quotaOfRow } from './accounts.ts';
import type { PostgresDatabase } from './database.ts';
import type { Announce } from './pets.ts';

type CallerRow = QuotaColumns & {
  readonly keyId: bigint;
  readonly accountId: bigint;
  readonly expiresAt: bigint | null;
};

const columns = (sql: SQL) =>
  sql`id, account_id AS "accountId", name, last_four AS "lastFour", created_at AS "createdAt",
      expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

export class PostgresKeys implements KeyStore {
  readonly #database: PostgresDatabase;
  readonly #announce: Announce;

  constructor(database: PostgresDatabase, announce: Announce) {
    this.#database = database;
    this.#announce = announce;
  }

  async create(key: NewKey): Promise<Key> {
    return this.#created(await this.#database.write((sql) => insert(sql, key)));
  }

  async list(): Promise<Key[]> {
    const rows = await this.#database.read<KeyRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM keys ORDER BY id`,
    );
    return rows.map(keyOfRow);
  }

  async find(id: number): Promise<Key | undefined> {
    const [row] = await this.#database.read<KeyRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM keys WHERE id = ${id}`,
    );
    return row === undefined ? undefined : keyOfRow(row);
  }

  async findCaller(fingerprint: string): Promise<Caller | undefined> {
    const [row] = await this.#database.read<CallerRow[]>(
      (sql) => sql`
        SELECT keys.id AS "keyId", account_id AS "accountId", expires_at AS "expiresAt",
               plan, per_minute AS "perMinute", per_day AS "perDay"
        FROM keys JOIN accounts ON accounts.id = account_id
        WHERE fingerprint = ${fingerprint} AND revoked_at IS NULL`,
    );
    if (row === undefined) return undefined;
    const expiresAt = row.expiresAt === null ? Number.POSITIVE_INFINITY : Number(row.expiresAt);
    return { keyId: Number(row.keyId), accountId: Number(row.accountId), quota: quotaOfRow(row), expiresAt };
  }

  /** One statement, so that the old key ends only if the new one begins. */
  async rotate(oldId: number, oldEndsAt: number, successor: NewKey): Promise<Key> {
    return this.#created(await this.#database.write((sql) => insert(sql, successor, { oldId, oldEndsAt })));
  }

  async revoke(id: number, at: number): Promise<boolean> {
    const rows = await this.#database.write<unknown[]>(
      (sql) => sql`UPDATE keys SET revoked_at = coalesce(revoked_at, ${at}) WHERE id = ${id} RETURNING id`,
    );
    await this.#announce();
    return rows.length > 0;
  }

  async #created([row]: KeyRow[]): Promise<Key> {
    if (row === undefined) throw new Error('The table "counters" has no row "keys".');
    await this.#announce();
    return keyOfRow(row);
  }
}

/** Stores a key, and lets another one end with it. */
function insert(sql: SQL, key: NewKey, ended?: { oldId: number; oldEndsAt: number }): SQL.Query<KeyRow[]> {
  const { oldId, oldEndsAt } = ended ?? { oldId: null, oldEndsAt: null };
  return sql`
    WITH ended AS (
      UPDATE keys SET expires_at = least(coalesce(expires_at, ${oldEndsAt}::bigint), ${oldEndsAt}::bigint)
      WHERE id = ${oldId}::bigint
    ), taken AS (
      UPDATE counters SET last = last + 1 WHERE name = 'keys' RETURNING last
    )
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, created_at, expires_at)
    SELECT last, ${key.accountId}::bigint, ${key.name}, ${key.fingerprint}, ${key.lastFour},
           ${key.createdAt}::bigint, ${key.expiresAt}::bigint
    FROM taken
    RETURNING ${columns(sql)}`;
}
