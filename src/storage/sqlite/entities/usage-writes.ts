import type { Database } from 'bun:sqlite';
import { dayOf, hourMs } from '../../../domain/clock.ts';
import type { ReportNumber } from '../../../tables/usage.ts';
import {
  type KeyHour,
  type UsageBounds,
  type UsageRows,
  type UsageWrites,
  usagePruneBatch,
} from '../../admin.ts';

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

/** Does nothing if the number is already recorded. */
const recordNumber = `
  INSERT INTO usage_reports AS last (process, number, reported_at) VALUES (?, ?, ?)
  ON CONFLICT (process) DO UPDATE SET number = excluded.number, reported_at = excluded.reported_at
  WHERE last.number < excluded.number`;

/** Deletes rows for periods before the given time, oldest first. */
const pruning = (table: string, [period, ...rest]: readonly [string, ...string[]]) => {
  const key = [period, ...rest].join(', ');
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM ${table} WHERE ${period} < ? ORDER BY ${key} LIMIT ?)`;
};

type Counts = [number, number, number, number, number, number];

export class SqliteUsageWrites implements UsageWrites {
  readonly #number;
  readonly #addMinute;
  readonly #addOperationHour;
  readonly #addLatencyMinute;
  readonly #addLatencyHour;
  readonly #addKeyOperation;
  readonly #addHour;
  readonly #addDay;
  readonly #prune;

  constructor(database: Database) {
    this.#number = database.query<never, [string, number, number]>(recordNumber);
    const byCode = (table: string, period: string) =>
      database.query<never, [number, string, string, number]>(count(table, `${period}, operation, code`));
    this.#addMinute = byCode('usage_minutes', 'minute');
    this.#addOperationHour = byCode('usage_operation_hours', 'hour');
    const byBucket = (table: string, period: string) =>
      database.query<never, [number, number, number]>(count(table, `${period}, bucket`));
    this.#addLatencyMinute = byBucket('latency_minutes', 'minute');
    this.#addLatencyHour = byBucket('latency_hours', 'hour');
    this.#addKeyOperation = database.query<never, [number, number, string, number]>(
      count('usage_key_operations', 'day, key_id, operation'),
    );
    this.#addHour = database.query<never, [number, number, number, ...Counts]>(addition('hour'));
    this.#addDay = database.query<never, [number, number, number, ...Counts]>(addition('day'));
    const pruneSmall = (table: string, key: string, time: string) =>
      database.query<never, [number, number]>(
        `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${time} < ? LIMIT ?)`,
      );
    const prune = (table: string, key: readonly [string, ...string[]]) =>
      database.query<never, [number, number]>(pruning(table, key));
    this.#prune = {
      minutes: prune('usage_minutes', ['minute', 'operation', 'code']),
      hours: prune('usage_hours', ['hour', 'key_id']),
      days: prune('usage_days', ['day', 'key_id']),
      latencyMinutes: prune('latency_minutes', ['minute', 'bucket']),
      operationHours: prune('usage_operation_hours', ['hour', 'operation', 'code']),
      latencyHours: prune('latency_hours', ['hour', 'bucket']),
      keyOperations: prune('usage_key_operations', ['day', 'key_id', 'operation']),
      reports: pruneSmall('usage_reports', 'process', 'reported_at'),
      instances: pruneSmall('instances', 'name', 'seen_at'),
    };
  }

  isNew({ process, number, reportedAt }: ReportNumber): boolean {
    return this.#number.run(process, number, reportedAt).changes > 0;
  }

  add({ minutes, latencies, keys }: UsageRows): void {
    for (const { minute, operation, code, requests } of minutes) {
      this.#addMinute.run(minute, operation, code, requests);
      this.#addOperationHour.run(hourOf(minute), operation, code, requests);
    }
    for (const { minute, bucket, requests } of latencies) {
      this.#addLatencyMinute.run(minute, bucket, requests);
      this.#addLatencyHour.run(hourOf(minute), bucket, requests);
    }
    // Writes the keys in storage order, so that adjacent rows are written one after the other.
    for (const key of keys.toSorted((one, other) => one.hour - other.hour || one.keyId - other.keyId))
      this.#addKey(key);
  }

  #addKey({ hour, keyId, accountId, operations, ...key }: KeyHour): void {
    const { ok, refused, limited, failed, deprecated, lastUsedAt } = key;
    const counts: Counts = [ok, refused, limited, failed, deprecated, lastUsedAt];
    const day = dayOf(hour);
    this.#addHour.run(hour, keyId, accountId, ...counts);
    this.#addDay.run(day, keyId, accountId, ...counts);
    for (const { operation, requests } of operations)
      this.#addKeyOperation.run(day, keyId, operation, requests);
  }

  prune({ minutes, history, hours, days, reports, instances }: UsageBounds): boolean {
    const expired = [
      [this.#prune.minutes, minutes],
      [this.#prune.hours, hours],
      [this.#prune.days, days],
      [this.#prune.latencyMinutes, minutes],
      [this.#prune.operationHours, history],
      [this.#prune.latencyHours, history],
      [this.#prune.keyOperations, history],
      [this.#prune.reports, reports],
      [this.#prune.instances, instances],
    ] as const;
    let left = usagePruneBatch;
    for (const [statement, before] of expired) {
      left -= statement.run(before, left).changes;
      if (left === 0) return true;
    }
    return false;
  }
}

function hourOf(minute: number): number {
  return minute - (minute % hourMs);
}
