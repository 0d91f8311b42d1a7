import type { SQL } from 'bun';
import type { PlanName, Quota } from '../../domain/plan.ts';
import { type AccountRow, accountOfRow, customQuota } from '../account-row.ts';
import type { Account, AccountStore, NewAccount } from '../storage.ts';
import type { AccountWrites } from '../transaction.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, type Versioned } from './versions.ts';

const columns = (sql: SQL) =>
  sql`id, name, plan, per_minute AS "perMinute", per_day AS "perDay", created_at AS "createdAt"`;

export class PostgresAccounts implements AccountStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(): Promise<Account[]> {
    const rows = await this.#reader.read<AccountRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM accounts ORDER BY id`,
    );
    return rows.map(accountOfRow);
  }

  async find(id: number): Promise<Account | undefined> {
    const [row] = await this.#reader.read<AccountRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM accounts WHERE id = ${id}`,
    );
    return row === undefined ? undefined : accountOfRow(row);
  }
}

export class PostgresAccountWrites implements AccountWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** The counter's row is locked until the commit, so that ids are committed in their order. */
  async create(account: NewAccount): Promise<Account> {
    const { name, plan, quota, createdAt } = account;
    const [perMinute, perDay] = customQuota(plan, quota);
    const [row] = await this.#statements.run<{ id: bigint }[]>(
      (sql) => sql`
        WITH taken AS (UPDATE counters SET last = last + 1 WHERE name = 'accounts' RETURNING last)
        INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at)
        SELECT last, ${name}, ${plan}, ${perMinute}::bigint, ${perDay}::bigint, ${createdAt}::bigint FROM taken
        RETURNING id`,
    );
    if (row === undefined) throw new Error('The table "counters" has no row "accounts".');
    return { id: Number(row.id), ...account };
  }

  async setPlan(id: number, plan: PlanName, quota: Quota): Promise<Account | undefined> {
    const [perMinute, perDay] = customQuota(plan, quota);
    const [row] = await this.#statements.change<AccountRow & Versioned>(
      'callers',
      (sql) => sql`
        WITH changed AS (
          UPDATE accounts SET plan = ${plan}, per_minute = ${perMinute}, per_day = ${perDay}
          WHERE id = ${id} RETURNING *
        ), ${moved(sql, 'callers', sql`EXISTS (SELECT 1 FROM changed)`)}
        SELECT ${columns(sql)}, version FROM changed, moved`,
    );
    return row === undefined ? undefined : accountOfRow(row);
  }
}
