import type { Database } from 'bun:sqlite';
import { hourMs, startOfDay } from '../../../domain/clock.ts';
import type { KeyHour, UsageRows } from '../../admin.ts';
import { UsageWriteQueries, usageStatements } from '../../queries/usage.ts';
import { SqliteEngine } from '../engine.ts';

const addition = (period: 'hour' | 'day') =>
  `INSERT INTO usage_${period}s
     (${period}, key_id, account_id, ok, refused, limited, failed, deprecated, last_used_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (${period}, key_id) DO UPDATE
   SET ok = ok + excluded.ok, refused = refused + excluded.refused, limited = limited + excluded.limited,
       failed = failed + excluded.failed, deprecated = deprecated + excluded.deprecated,
       last_used_at = max(last_used_at, excluded.last_used_at)`;

/** Adds requests to a row, or inserts the row. */
const count = (table: string, key: string) =>
  `INSERT INTO ${table} (${key}, requests) VALUES (${key.replaceAll(/\w+/g, '?')}, ?)
   ON CONFLICT (${key}) DO UPDATE SET requests = requests + excluded.requests`;

type Counts = [number, number, number, number, number, number];

export class SqliteUsageWrites extends UsageWriteQueries {
  readonly #add;

  constructor(database: Database) {
    const engine = new SqliteEngine(database);
    super(engine);
    engine.prepare(usageStatements(engine));
    const byCode = (table: string, period: string) =>
      database.query<never, [number, string, string, number]>(count(table, `${period}, operation, code`));
    const byBucket = (table: string, period: string) =>
      database.query<never, [number, number, number]>(count(table, `${period}, bucket`));
    const byKey = (period: 'hour' | 'day') =>
      database.query<never, [number, number, number, ...Counts]>(addition(period));
    this.#add = {
      minute: byCode('usage_minutes', 'minute'),
      operationHour: byCode('usage_operation_hours', 'hour'),
      latencyMinute: byBucket('latency_minutes', 'minute'),
      latencyHour: byBucket('latency_hours', 'hour'),
      keyOperation: database.query<never, [number, number, string, number]>(
        count('usage_key_operations', 'day, key_id, operation'),
      ),
      hour: byKey('hour'),
      day: byKey('day'),
    };
  }

  add({ minutes, latencies, keys }: UsageRows): void {
    for (const { minute, operation, code, requests } of minutes) {
      this.#add.minute.run(minute, operation, code, requests);
      this.#add.operationHour.run(hourOf(minute), operation, code, requests);
    }
    for (const { minute, bucket, requests } of latencies) {
      this.#add.latencyMinute.run(minute, bucket, requests);
      this.#add.latencyHour.run(hourOf(minute), bucket, requests);
    }
    // Writes the keys in storage order, so that adjacent rows are written one after the other.
    for (const key of keys.toSorted((one, other) => one.hour - other.hour || one.keyId - other.keyId))
      this.#addKey(key);
  }

  #addKey({ hour, keyId, accountId, operations, ...key }: KeyHour): void {
    const { ok, refused, limited, failed, deprecated, lastUsedAt } = key;
    const counts: Counts = [ok, refused, limited, failed, deprecated, lastUsedAt];
    const day = startOfDay(hour);
    this.#add.hour.run(hour, keyId, accountId, ...counts);
    this.#add.day.run(day, keyId, accountId, ...counts);
    for (const { operation, requests } of operations)
      this.#add.keyOperation.run(day, keyId, operation, requests);
  }
}

function hourOf(minute: number): number {
  return minute - (minute % hourMs);
}
