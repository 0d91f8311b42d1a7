import type { Database } from 'bun:sqlite';
import type { PlanName, Quota } from '../../domain/plan.ts';
import { type AccountRow, accountOfRow, customQuota } from '../account-row.ts';
import type { Account, AccountStore } from '../storage.ts';
import { attempt } from './database.ts';

const columns = 'id, name, plan, per_minute AS perMinute, per_day AS perDay, created_at AS createdAt';

export class SqliteAccounts implements AccountStore {
  /** Rises with every write of this process. */
  writes = 0;
  readonly #insert;
  readonly #list;
  readonly #find;
  readonly #update;

  constructor(database: Database) {
    this.#insert = database.query<never, [string, string, number | null, number | null, number]>(
      'INSERT INTO accounts (name, plan, per_minute, per_day, created_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#list = database.query<AccountRow, []>(`SELECT ${columns} FROM accounts ORDER BY id`);
    this.#find = database.query<AccountRow, [number]>(`SELECT ${columns} FROM accounts WHERE id = ?`);
    this.#update = database.query<never, [string, number | null, number | null, number]>(
      'UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?',
    );
  }

  create(account: Omit<Account, 'id'>): Account {
    const { name, plan, quota, createdAt } = account;
    const { lastInsertRowid } = attempt(() =>
      this.#insert.run(name, plan, ...customQuota(plan, quota), createdAt),
    );
    this.writes++;
    return { id: Number(lastInsertRowid), ...account };
  }

  list(): Account[] {
    return attempt(() => this.#list.all()).map(accountOfRow);
  }

  find(id: number): Account | undefined {
    const row = attempt(() => this.#find.get(id));
    return row === null ? undefined : accountOfRow(row);
  }

  setPlan(id: number, plan: PlanName, quota: Quota): Account | undefined {
    attempt(() => this.#update.run(plan, ...customQuota(plan, quota), id));
    this.writes++;
    return this.find(id);
  }
}
