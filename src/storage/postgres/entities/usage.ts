import type { SQL } from 'bun';
import { withNumbers } from '../../../tables/sql.ts';
import type {
  DayOfKey,
  KeyOperation,
  KeyUsage,
  LastUse,
  MinuteUsage,
  OperationCount,
  StepCount,
  StepLatency,
  Steps,
  TimeRange,
  UsageOwner,
  UsagePeriod,
  UsageResolution,
  UsageStore,
} from '../../admin.ts';
import type { Runner } from '../statements.ts';

const endless = 9_223_372_036_854_775_807n;

const requests = (sql: SQL) => sql`ok + refused + limited + failed`;

/** Casts sums to `bigint`, because PostgreSQL returns sums of `bigint` as `numeric`. */
const outcomes = (sql: SQL) => sql`
  sum(ok)::bigint AS ok, sum(refused)::bigint AS refused, sum(limited)::bigint AS limited,
  sum(failed)::bigint AS failed`;

const operationTable = (sql: SQL, by: Steps['by']) =>
  by === 'minute' ? sql`usage_minutes` : sql`usage_operation_hours`;

const periodOf = (sql: SQL, by: Steps['by']) => (by === 'minute' ? sql`minute` : sql`hour`);

export class PostgresUsage implements UsageStore {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  async minutes({ since, until }: TimeRange): Promise<MinuteUsage[]> {
    const rows = await this.#runner.run(
      (sql): SQL.Query<object[]> => sql`
        SELECT minute, operation, code, requests FROM usage_minutes
        WHERE minute >= ${since} AND minute < ${until} ORDER BY minute, operation, code`,
    );
    return Array.from(rows, withNumbers<MinuteUsage>);
  }

  counts({ by, ...steps }: Steps): Promise<StepCount[]> {
    return this.#steps<StepCount>(by, steps, (sql) => [operationTable(sql, by), sql`code`]);
  }

  latencies({ by, ...steps }: Steps): Promise<StepLatency[]> {
    return this.#steps<StepLatency>(by, steps, (sql) => [
      by === 'minute' ? sql`latency_minutes` : sql`latency_hours`,
      sql`bucket`,
    ]);
  }

  async operations({ by, since, until }: TimeRange & Pick<Steps, 'by'>): Promise<OperationCount[]> {
    const rows = await this.#runner.run((sql): SQL.Query<object[]> => {
      const period = periodOf(sql, by);
      return sql`
        SELECT operation, code, sum(requests)::bigint AS requests FROM ${operationTable(sql, by)}
        WHERE ${period} >= ${since} AND ${period} < ${until} GROUP BY operation, code`;
    });
    return Array.from(rows, withNumbers<OperationCount>);
  }

  async keyOperations(keyId: number, { since, until }: TimeRange): Promise<KeyOperation[]> {
    const rows = await this.#runner.run(
      (sql): SQL.Query<object[]> => sql`
        SELECT day, operation, requests FROM usage_key_operations
        WHERE key_id = ${keyId} AND day >= ${since} AND day < ${until} ORDER BY day, operation`,
    );
    return Array.from(rows, withNumbers<KeyOperation>);
  }

  async #steps<Row>(
    by: Steps['by'],
    { since, until, stepMs }: Omit<Steps, 'by'>,
    of: (sql: SQL) => readonly [table: SQL.Query<unknown>, what: SQL.Query<unknown>],
  ): Promise<Row[]> {
    const rows = await this.#runner.run((sql): SQL.Query<object[]> => {
      const [[table, what], period] = [of(sql), periodOf(sql, by)];
      return sql`
        SELECT ${period} / ${stepMs}::bigint * ${stepMs}::bigint AS "from", ${what},
               sum(requests)::bigint AS requests
        FROM ${table} WHERE ${period} >= ${since} AND ${period} < ${until} GROUP BY 1, 2 ORDER BY 1, 2`;
    });
    return Array.from(rows, withNumbers<Row>);
  }

  async periods(
    owner: UsageOwner,
    resolution: UsageResolution,
    { since, until }: TimeRange,
  ): Promise<UsagePeriod[]> {
    const rows = await this.#runner.run((sql): SQL.Query<object[]> => {
      const [table, period] =
        resolution === 'hour' ? [sql`usage_hours`, sql`hour`] : [sql`usage_days`, sql`day`];
      const owned = 'keyId' in owner ? sql`key_id = ${owner.keyId}` : sql`account_id = ${owner.accountId}`;
      return sql`
        SELECT ${period} AS "from", ${outcomes(sql)} FROM ${table}
        WHERE ${owned} AND ${period} >= ${since} AND ${period} < ${until}
        GROUP BY ${period} ORDER BY ${period}`;
    });
    return Array.from(rows, withNumbers<UsagePeriod>);
  }

  async topKeys(of: 'all' | 'deprecated', { since, until }: TimeRange, limit: number): Promise<KeyUsage[]> {
    const rows = await this.#runner.run((sql): SQL.Query<object[]> => {
      const isAll = of === 'all';
      return sql`
        SELECT key_id AS "keyId", max(account_id) AS "accountId", ${outcomes(sql)},
               sum(deprecated)::bigint AS deprecated, max(last_used_at) AS "lastUsedAt"
        FROM usage_days
        WHERE day >= ${since} AND day < ${until} AND ${isAll ? sql`true` : sql`deprecated > 0`}
        GROUP BY key_id
        ORDER BY ${isAll ? sql`sum(${requests(sql)})` : sql`sum(deprecated)`} DESC, key_id LIMIT ${limit}`;
    });
    return Array.from(rows, withNumbers<KeyUsage>);
  }

  async keysOn(day: number, after: number, limit: number): Promise<DayOfKey[]> {
    const rows = await this.#runner.run(
      (sql): SQL.Query<object[]> => sql`
        SELECT key_id AS "keyId", account_id AS "accountId", ${requests(sql)} AS requests,
               last_used_at AS "lastUsedAt"
        FROM usage_days WHERE day = ${day} AND key_id > ${after} ORDER BY key_id LIMIT ${limit}`,
    );
    return Array.from(rows, withNumbers<DayOfKey>);
  }

  async lastUses(keyIds: readonly number[], since: number): Promise<LastUse[]> {
    const rows = await this.#runner.run(
      (sql): SQL.Query<object[]> => sql`
        SELECT latest.key_id AS "keyId", last_used_at AS "lastUsedAt", requests
        FROM json_array_elements_text(${JSON.stringify(keyIds)}::text::json) AS wanted (id)
        CROSS JOIN LATERAL (
          SELECT key_id, last_used_at FROM usage_days WHERE (key_id, day) <= (id::bigint, ${endless}::bigint)
          ORDER BY key_id DESC, day DESC LIMIT 1
        ) AS latest
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(${requests(sql)}), 0)::bigint AS requests FROM usage_days
          WHERE key_id = id::bigint AND day >= ${since}
        ) AS counted
        WHERE latest.key_id = id::bigint`,
    );
    return Array.from(rows, withNumbers<LastUse>);
  }
}
