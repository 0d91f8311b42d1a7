import type { SQL } from 'bun';
import { type AccountRow, accountOfRow, customQuota, folded } from '../account-row.ts';
import type { Account, AccountFilter, AccountPosition, AccountStore, NewAccount } from '../storage.ts';
import type { AccountWrites } from '../transaction.ts';
import { pageOf } from './ranges.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, type Versioned } from './versions.ts';

const columns = (sql: SQL) =>
  sql`id, name, plan, per_minute AS "perMinute", per_day AS "perDay", created_at AS "createdAt",
      closed_at AS "closedAt"`;

export class PostgresAccounts implements AccountStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(
    after: AccountPosition | undefined,
    limit: number,
    filter: AccountFilter = {},
  ): Promise<Account[]> {
    const rows = await this.#reader.read((sql) => page(sql, after, limit, filter));
    return rows.map(accountOfRow);
  }

  async find(id: number): Promise<Account | undefined> {
    const [row] = await this.#reader.read((sql) => byId(sql, id));
    return row && accountOfRow(row);
  }

  async findMany(ids: readonly number[]): Promise<Account[]> {
    const rows = await this.#reader.read<AccountRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM accounts WHERE id = ANY (${`{${ids}}`}::text::bigint[])`,
    );
    return rows.map(accountOfRow);
  }
}

function byId(sql: SQL, id: number): SQL.Query<AccountRow[]> {
  return sql`SELECT ${columns(sql)} FROM accounts WHERE id = ${id}`;
}

function page(
  sql: SQL,
  after: AccountPosition | undefined,
  limit: number,
  { name, isClosed }: AccountFilter,
): SQL.Query<AccountRow[]> {
  const id = after?.id ?? 0;
  const prefix = name === undefined ? undefined : folded(name);
  const byName = {
    index: sql`name_folded, id`,
    begin: sql`${after ? folded(after.name) : prefix}::text, ${id}::bigint`,
  };
  const { index, begin } = prefix === undefined ? { index: sql`id`, begin: sql`${id}::bigint` } : byName;
  const isNamed = prefix === undefined ? sql`true` : sql`starts_with(name_folded, ${prefix})`;
  const range =
    isClosed === undefined
      ? { index, begin, belongs: isNamed }
      : {
          index: sql`(closed_at IS NULL), ${index}`,
          begin: sql`${!isClosed}::boolean, ${begin}`,
          belongs: sql`(closed_at IS NULL) = ${!isClosed}::boolean AND ${isNamed}`,
        };
  return pageOf(sql, { columns: columns(sql), table: sql`accounts`, ...range }, limit);
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
        INSERT INTO accounts (id, name, name_folded, plan, per_minute, per_day, created_at)
        SELECT last, ${name}, ${folded(name)}, ${plan}, ${perMinute}::bigint, ${perDay}::bigint, ${createdAt}::bigint FROM taken
        RETURNING id`,
    );
    if (row === undefined) throw new Error('The table "counters" has no row "accounts".');
    return { id: Number(row.id), ...account, closedAt: null };
  }

  async find(id: number): Promise<Account | undefined> {
    const [row] = await this.#statements.run((sql) => byId(sql, id));
    return row && accountOfRow(row);
  }

  async replace({ id, name, plan, quota, closedAt }: Account): Promise<void> {
    const [perMinute, perDay] = customQuota(plan, quota);
    await this.#statements.change<Versioned>(
      'callers',
      (sql) => sql`
        WITH ${moved(sql, 'callers')}
        UPDATE accounts SET name = ${name}, name_folded = ${folded(name)}, plan = ${plan},
          per_minute = ${perMinute}::bigint, per_day = ${perDay}::bigint, closed_at = ${closedAt}::bigint
        FROM moved WHERE id = ${id} RETURNING version`,
    );
  }
}
