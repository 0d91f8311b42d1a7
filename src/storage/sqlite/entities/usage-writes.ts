import type { Database } from 'bun:sqlite';
import { dayMs } from '../../../domain/clock.ts';
import type { ReportNumber } from '../../../tables/usage.ts';
import type { UsageBounds, UsageReport, UsageWrites } from '../../admin.ts';

const addition = (period: 'hour' | 'day') =>
  `INSERT INTO usage_${period}s
     (${period}, key_id, account_id, ok, refused, limited, failed, deprecated, last_used_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (${period}, key_id) DO UPDATE
   SET ok = ok + excluded.ok, refused = refused + excluded.refused, limited = limited + excluded.limited,
       failed = failed + excluded.failed, deprecated = deprecated + excluded.deprecated,
       last_used_at = max(last_used_at, excluded.last_used_at)`;

/** Changes nothing if the number is recorded already. */
const recordNumber = `
  INSERT INTO usage_reports AS last (process, number, reported_at) VALUES (?, ?, ?)
  ON CONFLICT (process) DO UPDATE SET number = excluded.number, reported_at = excluded.reported_at
  WHERE last.number < excluded.number`;

const prunedAtOnce = 1_000;

/** Removes some of a table's rows of periods before an instant, the oldest first. */
const pruning = (table: string, [period, ...rest]: readonly [string, ...string[]]) => {
  const key = [period, ...rest].join(', ');
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM ${table} WHERE ${period} < ? ORDER BY ${key} LIMIT ${prunedAtOnce})`;
};

type Counts = [number, number, number, number, number, number];

export class SqliteUsageWrites implements UsageWrites {
  readonly #pruneInstances;
  readonly #pruneReports;
  readonly #number;
  readonly #addMinute;
  readonly #addHour;
  readonly #addDay;
  readonly #prune;

  constructor(database: Database) {
    this.#pruneInstances = database.query<never, [number]>('DELETE FROM instances WHERE seen_at < ?');
    this.#pruneReports = database.query<never, [number]>('DELETE FROM usage_reports WHERE reported_at < ?');
    this.#number = database.query<never, [string, number, number]>(recordNumber);
    this.#addMinute = database.query<never, [number, string, string, number]>(
      `INSERT INTO usage_minutes (minute, operation, code, requests) VALUES (?, ?, ?, ?)
       ON CONFLICT (minute, operation, code) DO UPDATE SET requests = requests + excluded.requests`,
    );
    this.#addHour = database.query<never, [number, number, number, ...Counts]>(addition('hour'));
    this.#addDay = database.query<never, [number, number, number, ...Counts]>(addition('day'));
    const prune = (table: string, key: readonly [string, ...string[]]) =>
      database.query<never, [number]>(pruning(table, key));
    this.#prune = {
      minutes: prune('usage_minutes', ['minute', 'operation', 'code']),
      hours: prune('usage_hours', ['hour', 'key_id']),
      days: prune('usage_days', ['day', 'key_id']),
    };
  }

  isNew({ process, number, reportedAt }: ReportNumber): boolean {
    return this.#number.run(process, number, reportedAt).changes > 0;
  }

  add({ minutes, keys }: Pick<UsageReport, 'minutes' | 'keys'>): void {
    for (const { minute, operation, code, requests } of minutes) {
      this.#addMinute.run(minute, operation, code, requests);
    }
    // In the order in which they lie: neighbours are written together.
    for (const key of keys.toSorted((one, other) => one.hour - other.hour || one.keyId - other.keyId)) {
      const { hour, keyId, accountId, ok, refused, limited, failed, deprecated, lastUsedAt } = key;
      const counts: Counts = [ok, refused, limited, failed, deprecated, lastUsedAt];
      this.#addHour.run(hour, keyId, accountId, ...counts);
      this.#addDay.run(hour - (hour % dayMs), keyId, accountId, ...counts);
    }
  }

  prune({ minutes, hours, days, reports, instances }: UsageBounds): boolean {
    this.#pruneInstances.run(instances);
    this.#pruneReports.run(reports);
    const removed = [
      this.#prune.minutes.run(minutes).changes,
      this.#prune.hours.run(hours).changes,
      this.#prune.days.run(days).changes,
    ];
    return removed.some((rows) => rows >= prunedAtOnce);
  }
}
