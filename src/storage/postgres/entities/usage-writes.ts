import type { SQL } from 'bun';
import { dayMs, hourMs, minuteMs, startOfDay } from '../../../domain/clock.ts';
import type { UsageRows } from '../../admin.ts';
import { UsageWriteQueries } from '../../queries/usage.ts';
import { PostgresEngine } from '../engine.ts';
import type { Statements } from '../statements.ts';

/** Passes rows as JSON in one parameter, because there may be one row per key. */
export class PostgresUsageWrites extends UsageWriteQueries {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    super(new PostgresEngine(statements));
    this.#statements = statements;
  }

  /** Every process locks the tables in the same order, and rows in key order, to avoid deadlocks. */
  async add({ minutes, latencies, keys }: UsageRows): Promise<void> {
    if (keys.length > 0) {
      const rows = JSON.stringify(keys);
      await this.#statements.run((sql) => addPeriods(sql, sql`usage_hours`, sql`hour`, hourMs, rows));
      await this.#statements.run((sql) => addPeriods(sql, sql`usage_days`, sql`day`, dayMs, rows));
      const operations = JSON.stringify(
        keys.flatMap(({ keyId, hour, operations }) =>
          operations.map((of) => ({ keyId, day: startOfDay(hour), ...of })),
        ),
      );
      await this.#statements.run((sql) => addKeyOperations(sql, operations));
    }
    // Every report updates these few rows, so they are updated last and locked only briefly.
    if (minutes.length > 0) {
      const rows = JSON.stringify(minutes);
      await this.#statements.run((sql) => addCodes(sql, sql`usage_operation_hours`, sql`hour`, hourMs, rows));
      await this.#statements.run((sql) => addCodes(sql, sql`usage_minutes`, sql`minute`, minuteMs, rows));
    }
    if (latencies.length > 0) {
      const rows = JSON.stringify(latencies);
      await this.#statements.run((sql) => addLatencies(sql, sql`latency_hours`, sql`hour`, hourMs, rows));
      await this.#statements.run((sql) =>
        addLatencies(sql, sql`latency_minutes`, sql`minute`, minuteMs, rows),
      );
    }
  }
}

type Part = SQL.Query<unknown>;

function addCodes(sql: SQL, table: Part, period: Part, lengthMs: number, rows: string): Part {
  return sql`
    INSERT INTO ${table} AS counted (${period}, operation, code, requests)
    SELECT reported.minute / ${lengthMs}::bigint * ${lengthMs}::bigint, operation, code, sum(requests)
    FROM json_to_recordset(${rows}::text::json)
      AS reported (minute bigint, operation text, code text, requests bigint)
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (${period}, operation, code) DO UPDATE SET requests = counted.requests + excluded.requests`;
}

function addLatencies(sql: SQL, table: Part, period: Part, lengthMs: number, rows: string): Part {
  return sql`
    INSERT INTO ${table} AS counted (${period}, bucket, requests)
    SELECT reported.minute / ${lengthMs}::bigint * ${lengthMs}::bigint, bucket, sum(requests)
    FROM json_to_recordset(${rows}::text::json) AS reported (minute bigint, bucket bigint, requests bigint)
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (${period}, bucket) DO UPDATE SET requests = counted.requests + excluded.requests`;
}

function addKeyOperations(sql: SQL, rows: string): Part {
  return sql`
    INSERT INTO usage_key_operations AS counted (day, key_id, operation, requests)
    SELECT day, "keyId", operation, sum(requests)
    FROM json_to_recordset(${rows}::text::json)
      AS reported (day bigint, "keyId" bigint, operation text, requests bigint)
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (day, key_id, operation) DO UPDATE SET requests = counted.requests + excluded.requests`;
}

function addPeriods(sql: SQL, table: Part, period: Part, lengthMs: number, rows: string): Part {
  return sql`
    INSERT INTO ${table} AS counted
      (${period}, key_id, account_id, ok, refused, limited, failed, deprecated, last_used_at)
    SELECT reported.hour / ${lengthMs}::bigint * ${lengthMs}::bigint, "keyId", max("accountId"), sum(ok),
           sum(refused), sum(limited), sum(failed), sum(deprecated), max("lastUsedAt")
    FROM json_to_recordset(${rows}::text::json) AS reported
      (hour bigint, "keyId" bigint, "accountId" bigint, ok bigint, refused bigint, limited bigint,
       failed bigint, deprecated bigint, "lastUsedAt" bigint)
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (${period}, key_id) DO UPDATE SET
      ok = counted.ok + excluded.ok, refused = counted.refused + excluded.refused,
      limited = counted.limited + excluded.limited, failed = counted.failed + excluded.failed,
      deprecated = counted.deprecated + excluded.deprecated,
      last_used_at = greatest(counted.last_used_at, excluded.last_used_at)`;
}
