import type { SQL } from 'bun';
import { type Scope, scopesText } from '../../domain/scope.ts';
import { folded } from '../account-row.ts';
import { CallerReader, type CallerRow, type KeyRow, keyOfRow } from '../key-row.ts';
import type { Caller, FirstAccount, Key, KeyFingerprint, KeyStore, NewKey } from '../storage.ts';
import type { KeyWrites } from '../transaction.ts';
import { pageOf } from './ranges.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, risenVersion, type Versioned } from './versions.ts';

const columns = (sql: SQL) =>
  sql`id, account_id AS "accountId", name, last_four AS "lastFour", scopes, created_at AS "createdAt",
      expires_at AS "expiresAt", revoked_at AS "revokedAt", successor_id AS "successorId"`;

export class PostgresKeys implements KeyStore {
  readonly #reader: Reader;
  readonly #callers = new CallerReader();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(after: number, limit: number, accountId?: number): Promise<Key[]> {
    const rows = await this.#reader.read((sql) => page(sql, after, limit, accountId));
    return rows.map(keyOfRow);
  }

  async find(id: number): Promise<Key | undefined> {
    const [row] = await this.#reader.read((sql) => byId(sql, id));
    return row && keyOfRow(row);
  }

  async findMany(ids: readonly number[]): Promise<Key[]> {
    const rows = await this.#reader.read<KeyRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM keys WHERE id = ANY (${`{${ids}}`}::text::bigint[])`,
    );
    return rows.map(keyOfRow);
  }

  async fingerprints(fromId: number, limit: number): Promise<KeyFingerprint[]> {
    const rows = await this.#reader.read<{ id: bigint; fingerprint: string }[]>(
      (sql) => sql`SELECT id, fingerprint FROM keys WHERE id >= ${fromId} ORDER BY id LIMIT ${limit}`,
    );
    return rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint }));
  }

  async findCaller(fingerprint: string): Promise<Caller | undefined> {
    const [row] = await this.#reader.read<CallerRow[]>(
      (sql) => sql`
        SELECT keys.id AS "keyId", account_id AS "accountId", scopes, expires_at AS "expiresAt",
               plan, per_minute AS "perMinute", per_day AS "perDay"
        FROM keys JOIN accounts ON accounts.id = account_id
        WHERE fingerprint = ${fingerprint} AND revoked_at IS NULL AND closed_at IS NULL`,
    );
    return row && this.#callers.callerOf(row);
  }
}

function byId(sql: SQL, id: number): SQL.Query<KeyRow[]> {
  return sql`SELECT ${columns(sql)} FROM keys WHERE id = ${id}`;
}

function page(sql: SQL, after: number, limit: number, accountId: number | undefined): SQL.Query<KeyRow[]> {
  if (accountId === undefined) {
    return sql`SELECT ${columns(sql)} FROM keys WHERE id > ${after} ORDER BY id LIMIT ${limit}`;
  }
  const range = {
    columns: columns(sql),
    table: sql`keys`,
    index: sql`account_id, id`,
    begin: sql`${accountId}::bigint, ${after}::bigint`,
    belongs: sql`account_id = ${accountId}`,
  };
  return pageOf(sql, range, limit);
}

export class PostgresKeyWrites implements KeyWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async find(id: number): Promise<Key | undefined> {
    const [row] = await this.#statements.run((sql) => byId(sql, id));
    return row && keyOfRow(row);
  }

  async create(key: NewKey): Promise<Key> {
    const [row] = await this.#statements.change('callers', (sql) => insert(sql, key));
    if (row === undefined) throw new Error('The table "counters" has no row "keys".');
    return keyOfRow(row);
  }

  async createFirst(account: FirstAccount, key: Omit<NewKey, 'accountId'>): Promise<Key | undefined> {
    const [row] = await this.#statements.change('callers', (sql) => insertFirst(sql, account, key));
    return row && keyOfRow(row);
  }

  async rotate(oldId: number, oldEndsAt: number, successor: NewKey): Promise<Key | undefined> {
    const [row] = await this.#statements.change('callers', (sql) =>
      insertInPlaceOf(sql, oldId, oldEndsAt, successor),
    );
    return row && keyOfRow(row);
  }

  async revoke(id: number, at: number): Promise<boolean> {
    // The counter's row first, as whoever rotates the key has it: so none of the two waits for the other in a circle.
    const rows = await this.#statements.change<Versioned>(
      'callers',
      (sql) => sql`
        WITH ${moved(sql, 'callers', isThere(sql, id))}
        UPDATE keys SET revoked_at = coalesce(revoked_at, ${at}) FROM moved WHERE id = ${id} RETURNING version`,
    );
    return rows.length > 0;
  }

  async setScopes(id: number, scopes: readonly Scope[]): Promise<boolean> {
    const rows = await this.#statements.change<Versioned>(
      'callers',
      (sql) => sql`
        WITH ${moved(sql, 'callers', isThere(sql, id))}
        UPDATE keys SET scopes = ${scopesText(scopes)} FROM moved WHERE id = ${id} RETURNING version`,
    );
    return rows.length > 0;
  }
}

const isThere = (sql: SQL, id: number) => sql`EXISTS (SELECT 1 FROM keys WHERE id = ${id})`;

function insert(sql: SQL, key: NewKey): SQL.Query<(KeyRow & Versioned)[]> {
  return sql`
    WITH taken AS (
      UPDATE counters SET last = last + 1, ${risenVersion(sql)} WHERE name = 'keys' RETURNING last, version
    )
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
    SELECT last, ${key.accountId}::bigint, ${key.name}, ${key.fingerprint}, ${key.lastFour},
           ${scopesText(key.scopes)}, ${key.createdAt}::bigint, ${key.expiresAt}::bigint
    FROM taken
    RETURNING ${columns(sql)}, (SELECT version FROM taken) AS version`;
}

/**
 * Stores a key, and lets the one end that it takes the place of, if that is live: whoever revokes or rotates it goes first or
 * after. The counter's row is locked before the key's, as in every statement that takes both.
 */
function insertInPlaceOf(
  sql: SQL,
  oldId: number,
  oldEndsAt: number,
  key: NewKey,
): SQL.Query<(KeyRow & Versioned)[]> {
  return sql`
    WITH counter AS (
      SELECT name FROM counters WHERE name = 'keys' FOR UPDATE
    ), old AS (
      SELECT id FROM keys CROSS JOIN counter
      WHERE id = ${oldId} AND revoked_at IS NULL AND successor_id IS NULL
        AND (expires_at IS NULL OR expires_at > ${key.createdAt}::bigint)
      FOR UPDATE OF keys
    ), taken AS (
      UPDATE counters SET last = last + 1, ${risenVersion(sql)}
      WHERE name = 'keys' AND EXISTS (SELECT 1 FROM old) RETURNING last, version
    ), ended AS (
      UPDATE keys SET expires_at = least(coalesce(expires_at, ${oldEndsAt}::bigint), ${oldEndsAt}::bigint),
                      successor_id = last
      FROM taken WHERE id = ${oldId}
    )
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
    SELECT last, ${key.accountId}::bigint, ${key.name}, ${key.fingerprint}, ${key.lastFour},
           ${scopesText(key.scopes)}, ${key.createdAt}::bigint, ${key.expiresAt}::bigint
    FROM taken
    RETURNING ${columns(sql)}, (SELECT version FROM taken) AS version`;
}

/**
 * Of those that want to make the first key one finds its counter at 0, for the row is locked until the commit. An account
 * that somebody else makes at the same moment leaves the store without a first key: it is not empty.
 */
function insertFirst(
  sql: SQL,
  { name, plan, createdAt }: FirstAccount,
  key: Omit<NewKey, 'accountId'>,
): SQL.Query<(KeyRow & Versioned)[]> {
  return sql`
    WITH first AS (
      UPDATE counters SET last = 1, ${risenVersion(sql)}
      WHERE name = 'keys' AND last = 0
        AND NOT EXISTS (SELECT 1 FROM accounts WHERE id > 1 OR name <> ${name} OR plan <> ${plan})
      RETURNING last, version
    ), taken AS (
      UPDATE counters SET last = 1 WHERE name = 'accounts' AND last = 0 AND EXISTS (SELECT 1 FROM first) RETURNING last
    ), account AS (
      INSERT INTO accounts (id, name, name_folded, plan, created_at)
      SELECT last, ${name}, ${folded(name)}, ${plan}, ${createdAt}::bigint FROM taken RETURNING id
    )
    INSERT INTO keys (id, account_id, name, fingerprint, last_four, scopes, created_at, expires_at)
    SELECT last, 1, ${key.name}, ${key.fingerprint}, ${key.lastFour},
           ${scopesText(key.scopes)}, ${key.createdAt}::bigint, ${key.expiresAt}::bigint
    FROM first WHERE EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM accounts)
    RETURNING ${columns(sql)}, (SELECT version FROM first) AS version`;
}
