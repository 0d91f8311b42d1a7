import type { Database } from 'bun:sqlite';
import { type AccountRow, accountOfRow, customQuota, folded } from '../account-row.ts';
import type { Account, AccountFilter, AccountPosition, AccountStore, NewAccount } from '../storage.ts';
import type { AccountWrites } from '../transaction.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const columns = `id, name, plan, per_minute AS perMinute, per_day AS perDay, created_at AS createdAt,
  closed_at AS closedAt`;
const selection = `SELECT ${columns} FROM accounts`;

/** Whether it is open, as the indexes have it. */
const isOpen = '(closed_at IS NULL)';

/** A page by name: first what has the same name as the last account of the page before, then what comes behind it. */
const pageByName = (condition: string) => `
  SELECT ${columns}, name_folded FROM accounts WHERE ${condition} name_folded = ?1 AND id > ?2
  UNION ALL
  SELECT ${columns}, name_folded FROM accounts WHERE ${condition} name_folded > ?1 AND name_folded < ?3
  ORDER BY name_folded, id LIMIT ?4`;

/** Behind every name that begins like this: no name goes on with the last of all code points, which is no character. */
const endOf = (prefix: string) => `${prefix}\u{10ffff}`;

export class SqliteAccounts implements AccountStore {
  readonly #snapshot: Snapshot;
  readonly #list;
  readonly #listByState;
  readonly #listByName;
  readonly #listByBoth;
  readonly #find;
  readonly #findMany;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#list = database.query<AccountRow, [number, number]>(
      `${selection} WHERE id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByState = database.query<AccountRow, [boolean, number, number]>(
      `${selection} WHERE ${isOpen} = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#listByName = database.query<AccountRow, [string, number, string, number]>(pageByName(''));
    this.#listByBoth = database.query<AccountRow, [string, number, string, number, boolean]>(
      pageByName(`${isOpen} = ?5 AND`),
    );
    this.#find = database.query<AccountRow, [number]>(`${selection} WHERE id = ?`);
    this.#findMany = database.query<AccountRow, [string]>(
      `${selection} WHERE id IN (SELECT value FROM json_each(?))`,
    );
  }

  list(after: AccountPosition | undefined, limit: number, filter: AccountFilter = {}): Account[] {
    return this.#snapshot.read(() => this.#rows(after, limit, filter)).map(accountOfRow);
  }

  find(id: number): Account | undefined {
    const row = this.#snapshot.read(() => this.#find.get(id));
    return row === null ? undefined : accountOfRow(row);
  }

  findMany(ids: readonly number[]): Account[] {
    return this.#snapshot.read(() => this.#findMany.all(JSON.stringify(ids))).map(accountOfRow);
  }

  #rows(after: AccountPosition | undefined, limit: number, { name, isClosed }: AccountFilter): AccountRow[] {
    const id = after?.id ?? 0;
    if (name === undefined) {
      return isClosed === undefined ? this.#list.all(id, limit) : this.#listByState.all(!isClosed, id, limit);
    }
    const prefix = folded(name);
    const from = after === undefined ? prefix : folded(after.name);
    return isClosed === undefined
      ? this.#listByName.all(from, id, endOf(prefix), limit)
      : this.#listByBoth.all(from, id, endOf(prefix), limit, !isClosed);
  }
}

export class SqliteAccountWrites implements AccountWrites {
  readonly #touch: Touch;
  readonly #insert;
  readonly #update;
  readonly #find;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#insert = database.query<never, [string, string, string, number | null, number | null, number]>(
      `INSERT INTO accounts (name, name_folded, plan, per_minute, per_day, created_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#update = database.query<
      never,
      [string, string, string, number | null, number | null, number | null, number]
    >(
      `UPDATE accounts SET name = ?, name_folded = ?, plan = ?, per_minute = ?, per_day = ?, closed_at = ?
       WHERE id = ?`,
    );
    this.#find = database.query<AccountRow, [number]>(`${selection} WHERE id = ?`);
  }

  create(account: NewAccount): Account {
    const { name, plan, quota, createdAt } = account;
    const values = [name, folded(name), plan, ...customQuota(plan, quota), createdAt] as const;
    const { lastInsertRowid } = this.#insert.run(...values);
    return { id: Number(lastInsertRowid), ...account, closedAt: null };
  }

  find(id: number): Account | undefined {
    return this.#find.all(id).map(accountOfRow)[0];
  }

  replace({ id, name, plan, quota, closedAt }: Account): void {
    this.#touch('callers');
    this.#update.run(name, folded(name), plan, ...customQuota(plan, quota), closedAt, id);
  }
}
