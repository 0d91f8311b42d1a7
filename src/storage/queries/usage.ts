import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { toNumbers } from '../../tables/sql.ts';
import type { SqlValue } from '../../tables/table.ts';
import type { ReportNumber } from '../../tables/usage.ts';
import {
  type DayOfKey,
  type KeyOperation,
  type KeyUsage,
  type LastUse,
  type MinuteUsage,
  type OperationCount,
  type StepCount,
  type StepLatency,
  type TimeRange,
  type TimeSteps,
  type UsageBounds,
  type UsageOwner,
  type UsagePeriod,
  type UsageResolution,
  type UsageRows,
  type UsageStore,
  type UsageWrites,
  usagePruneBatch,
} from '../admin.ts';
import { type Dialect, type Engine, perDialect } from './engine.ts';

export const requestsSql = 'ok + refused + limited + failed';

/** Casts sums to `bigint`, because PostgreSQL returns sums of `bigint` as `numeric`. */
const outcomes = `sum(ok)::bigint AS ok, sum(refused)::bigint AS refused, sum(limited)::bigint AS limited,
  sum(failed)::bigint AS failed`;

export const keyUsagesSql = `SELECT key_id AS "keyId", max(account_id) AS "accountId", ${outcomes},
    sum(deprecated)::bigint AS deprecated, max(last_used_at) AS "lastUsedAt" FROM usage_days`;

const sum = 'sum(requests)::bigint AS requests';

const minutes = `SELECT minute, operation, code, requests FROM usage_minutes
  WHERE minute >= $1 AND minute < $2 ORDER BY minute, operation, code`;

const operationTables = { minute: 'usage_minutes', hour: 'usage_operation_hours' } as const;

const stepSums = (table: string, by: TimeSteps['by'], what: 'code' | 'bucket') =>
  `SELECT ${by} / $1::bigint * $1::bigint AS "from", ${what}, ${sum} FROM ${table}
   WHERE ${by} >= $2 AND ${by} < $3 GROUP BY 1, 2 ORDER BY 1, 2`;

const operationSums = (by: TimeSteps['by']) =>
  `SELECT operation, code, ${sum} FROM ${operationTables[by]}
   WHERE ${by} >= $1 AND ${by} < $2 GROUP BY operation, code`;

const keyOperations = `SELECT day, operation, requests FROM usage_key_operations
  WHERE key_id = $1 AND day >= $2 AND day < $3 ORDER BY day, operation`;

const periods = (resolution: UsageResolution, owner: string) =>
  `SELECT ${resolution} AS "from", ${outcomes}
   FROM usage_${resolution}s WHERE ${owner} AND ${resolution} >= $2 AND ${resolution} < $3
   GROUP BY ${resolution} ORDER BY ${resolution}`;

const keysOn = `SELECT key_id AS "keyId", account_id AS "accountId", ${requestsSql} AS requests, last_used_at AS "lastUsedAt"
  FROM usage_days WHERE day = $1 AND key_id > $2 ORDER BY key_id LIMIT $3`;

/** Statements that depend on the indexes of an engine. */
interface EngineStatements {
  /** The condition on rows of the key `$1`. */
  readonly ofKey: string;
  readonly lastUses: string;
}

export abstract class UsageQueries implements UsageStore {
  readonly #engine: Engine;
  readonly #own: EngineStatements;

  constructor(engine: Engine, own: EngineStatements) {
    this.#engine = engine;
    this.#own = own;
  }

  abstract topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Promise<KeyUsage[]>;

  /** The parts of a range that are read one after the other. */
  protected abstract parts(
    range: TimeRange,
    by: TimeSteps['by'],
    stepMs?: number,
  ): AsyncIterable<TimeRange> | TimeRange[];

  protected rows<Row>(text: string, ...values: SqlValue[]): Awaitable<Row[]> {
    return andThen(this.#engine.all<object>(text, ...values), (rows) => rows.map(toNumbers<Row>));
  }

  minutes({ since, until }: TimeRange): Awaitable<MinuteUsage[]> {
    return this.rows(minutes, since, until);
  }

  counts({ by, ...steps }: TimeSteps): Promise<StepCount[]> {
    return this.#steps(stepSums(operationTables[by], by, 'code'), by, steps);
  }

  latencies({ by, ...steps }: TimeSteps): Promise<StepLatency[]> {
    return this.#steps(stepSums(`latency_${by}s`, by, 'bucket'), by, steps);
  }

  async operations({ by, ...range }: TimeRange & Pick<TimeSteps, 'by'>): Promise<OperationCount[]> {
    const found = new Map<string, OperationCount>();
    for await (const { since, until } of this.parts(range, by)) {
      for (const row of await this.rows<OperationCount>(operationSums(by), since, until)) {
        const name = `${row.operation} ${row.code}`;
        found.set(name, { ...row, requests: row.requests + (found.get(name)?.requests ?? 0) });
      }
    }
    return [...found.values()];
  }

  keyOperations(keyId: number, { since, until }: TimeRange): Awaitable<KeyOperation[]> {
    return this.rows(keyOperations, keyId, since, until);
  }

  periods(
    owner: UsageOwner,
    resolution: UsageResolution,
    { since, until }: TimeRange,
  ): Awaitable<UsagePeriod[]> {
    const [owned, id] =
      'keyId' in owner ? [this.#own.ofKey, owner.keyId] : ['account_id = $1', owner.accountId];
    return this.rows(periods(resolution, owned), id, since, until);
  }

  keysOn(day: number, after: number, limit: number): Awaitable<DayOfKey[]> {
    return this.rows(keysOn, day, after, limit);
  }

  lastUses(keyIds: readonly number[], since: number): Awaitable<LastUse[]> {
    return this.rows(this.#own.lastUses, JSON.stringify(keyIds), since);
  }

  async #steps<Row>(
    sums: string,
    by: TimeSteps['by'],
    { stepMs, ...range }: Omit<TimeSteps, 'by'>,
  ): Promise<Row[]> {
    const found: Row[] = [];
    for await (const { since, until } of this.parts(range, by, stepMs))
      found.push(...(await this.rows<Row>(sums, stepMs, since, until)));
    return found;
  }
}

/** Does nothing if the number is already recorded. A retried report waits for the commit of its first attempt. */
const recordNumber = `INSERT INTO usage_reports AS last (process, number, reported_at) VALUES ($1, $2, $3)
  ON CONFLICT (process) DO UPDATE SET number = excluded.number, reported_at = excluded.reported_at
  WHERE last.number < excluded.number`;

/** Each table, with its primary key and the column that the bound applies to. */
const expiringTables = [
  ['minutes', 'usage_minutes', 'minute, operation, code', 'minute'],
  ['hours', 'usage_hours', 'hour, key_id', 'hour'],
  ['days', 'usage_days', 'day, key_id', 'day'],
  ['minutes', 'latency_minutes', 'minute, bucket', 'minute'],
  ['history', 'usage_operation_hours', 'hour, operation, code', 'hour'],
  ['history', 'latency_hours', 'hour, bucket', 'hour'],
  ['history', 'usage_key_operations', 'day, key_id, operation', 'day'],
  ['reports', 'usage_reports', 'process', 'reported_at'],
  ['instances', 'instances', 'name', 'seen_at'],
] as const;

/** Removes the oldest rows first, except from the last two tables, which are small and have no index on the time. */
const pruning = ({ isAmong, rowKey, locking }: Dialect, table: string, key: string, time: string) =>
  `DELETE FROM ${table} WHERE ${isAmong(
    rowKey(key),
    `FROM ${table} WHERE ${time} < $1 ${key.startsWith(time) ? `ORDER BY ${key}` : ''} LIMIT $2
     ${locking('FOR UPDATE SKIP LOCKED')}`,
  )}`;

type ExpiringTable = (typeof expiringTables)[number][1];

export const usageStatements = perDialect((dialect) => {
  const pruned = expiringTables.map(([, table, key, time]) => [table, pruning(dialect, table, key, time)]);
  return { recordNumber, ...(Object.fromEntries(pruned) as Record<ExpiringTable, string>) };
});

export abstract class UsageWriteQueries implements UsageWrites {
  readonly #engine: Engine;
  readonly #texts: ReturnType<typeof usageStatements>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#texts = usageStatements(engine);
  }

  abstract add(rows: UsageRows): Awaitable<void>;

  async isNew({ process, number, reportedAt }: ReportNumber): Promise<boolean> {
    return (await this.#engine.run(this.#texts.recordNumber, process, number, reportedAt)) > 0;
  }

  async prune(bounds: UsageBounds): Promise<boolean> {
    let left = usagePruneBatch;
    for (const [bound, table] of expiringTables) {
      left -= await this.#engine.run(this.#texts[table], bounds[bound], left);
      if (left === 0) return true;
    }
    return false;
  }
}
