import type { Database } from 'bun:sqlite';
import type { PlanName, Quota } from '../../domain/plan.ts';
import { type AccountRow, accountOfRow, customQuota } from '../account-row.ts';
import type { Account, AccountStore, NewAccount } from '../storage.ts';
import type { AccountWrites } from '../transaction.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const columns = 'id, name, plan, per_minute AS perMinute, per_day AS perDay, created_at AS createdAt';
const selection = `SELECT ${columns} FROM accounts`;

export class SqliteAccounts implements AccountStore {
  readonly #snapshot: Snapshot;
  readonly #list;
  readonly #find;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#list = database.query<AccountRow, []>(`${selection} ORDER BY id`);
    this.#find = database.query<AccountRow, [number]>(`${selection} WHERE id = ?`);
  }

  list(): Account[] {
    return this.#snapshot.read(() => this.#list.all()).map(accountOfRow);
  }

  find(id: number): Account | undefined {
    const row = this.#snapshot.read(() => this.#find.get(id));
    return row === null ? undefined : accountOfRow(row);
  }
}

export class SqliteAccountWrites implements AccountWrites {
  readonly #touch: Touch;
  readonly #insert;
  readonly #update;
  readonly #find;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#insert = database.query<never, [string, string, number | null, number | null, number]>(
      'INSERT INTO accounts (name, plan, per_minute, per_day, created_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#update = database.query<never, [string, number | null, number | null, number]>(
      'UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?',
    );
    this.#find = database.query<AccountRow, [number]>(`${selection} WHERE id = ?`);
  }

  create(account: NewAccount): Account {
    const { name, plan, quota, createdAt } = account;
    const { lastInsertRowid } = this.#insert.run(name, plan, ...customQuota(plan, quota), createdAt);
    return { id: Number(lastInsertRowid), ...account };
  }

  setPlan(id: number, plan: PlanName, quota: Quota): Account | undefined {
    this.#update.run(plan, ...customQuota(plan, quota), id);
    const [row] = this.#find.all(id);
    if (row === undefined) return undefined;
    this.#touch('callers');
    return accountOfRow(row);
  }
}
