import type { Database } from 'bun:sqlite';
import { hourMs, minuteMs } from '../../../domain/clock.ts';
import { withNumbers } from '../../../tables/sql.ts';
import type { SqlValue } from '../../../tables/table.ts';
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
import type { ReadIn } from './entity.ts';
import { TopKeys } from './top-keys.ts';

/** Also filters by account, because the index begins with the account. A key's account never changes. */
const ofKey = 'account_id = (SELECT account_id FROM keys WHERE id = ?1) AND key_id = ?1';

const minutes = `
  SELECT minute, operation, code, requests FROM usage_minutes
  WHERE minute >= ? AND minute < ? ORDER BY minute, operation, code`;

const operationTables = { minute: 'usage_minutes', hour: 'usage_operation_hours' } as const;

/** Sums over one part of a range (see `partPeriods`). */
const stepSums = (table: string, by: Steps['by'], what: 'code' | 'bucket') =>
  `SELECT ${by} / ?1 * ?1 AS "from", ${what}, sum(requests) AS requests FROM ${table}
   WHERE ${by} >= ?2 AND ${by} < ?3 GROUP BY 1, 2`;

const operationSums = (by: Steps['by']) =>
  `SELECT operation, code, sum(requests) AS requests FROM ${operationTables[by]}
   WHERE ${by} >= ?1 AND ${by} < ?2 GROUP BY operation, code`;

const keyOperations = `
  SELECT day, operation, requests FROM usage_key_operations
  WHERE key_id = ?1 AND day >= ?2 AND day < ?3 ORDER BY day, operation`;

const periods = (resolution: UsageResolution, owner: string) =>
  `SELECT ${resolution} AS "from", sum(ok) AS ok, sum(refused) AS refused, sum(limited) AS limited,
          sum(failed) AS failed
   FROM usage_${resolution}s WHERE ${owner} AND ${resolution} >= ?2 AND ${resolution} < ?3
   GROUP BY ${resolution} ORDER BY ${resolution}`;

const keysOn = `
  SELECT key_id AS keyId, account_id AS accountId, ok + refused + limited + failed AS requests,
         last_used_at AS lastUsedAt
  FROM usage_days WHERE day = ? AND key_id > ? ORDER BY key_id LIMIT ?`;

const lastUses = `
  SELECT id AS keyId,
         (SELECT last_used_at FROM usage_days WHERE account_id = keys.account_id AND key_id = keys.id
          ORDER BY day DESC LIMIT 1) AS lastUsedAt,
         (SELECT coalesce(sum(ok + refused + limited + failed), 0) FROM usage_days
          WHERE account_id = keys.account_id AND key_id = keys.id AND day >= ?2) AS requests
  FROM keys WHERE id IN (SELECT value FROM json_each(?1)) AND lastUsedAt IS NOT NULL`;

/** Number of minutes or hours summed in one event-loop tick. Requests are served between ticks. */
const partPeriods = 240;

/** Splits a range into parts that contain only whole intervals, and yields to the event loop after each part. */
async function* partsOf({ since, until }: TimeRange, by: Steps['by'], stepMs = 1): AsyncGenerator<TimeRange> {
  const wantedMs = partPeriods * (by === 'minute' ? minuteMs : hourMs);
  const partMs = Math.max(stepMs, wantedMs - (wantedMs % stepMs));
  for (let from = since; from < until; ) {
    const to = Math.min(until, from - (from % stepMs) + partMs);
    yield { since: from, until: to };
    from = to;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export class SqliteUsage implements UsageStore {
  readonly #read: ReadIn;
  readonly #topKeys: TopKeys;
  readonly #database: Database;

  constructor(database: Database, read: ReadIn) {
    this.#database = database;
    this.#read = read;
    this.#topKeys = new TopKeys(database, read);
  }

  minutes({ since, until }: TimeRange): MinuteUsage[] {
    return this.#rows<MinuteUsage>(minutes, since, until);
  }

  counts({ by, ...steps }: Steps): Promise<StepCount[]> {
    return this.#steps<StepCount>(stepSums(operationTables[by], by, 'code'), by, steps);
  }

  latencies({ by, ...steps }: Steps): Promise<StepLatency[]> {
    return this.#steps<StepLatency>(stepSums(`latency_${by}s`, by, 'bucket'), by, steps);
  }

  async operations({ by, ...range }: TimeRange & Pick<Steps, 'by'>): Promise<OperationCount[]> {
    const found = new Map<string, OperationCount>();
    for await (const part of partsOf(range, by)) {
      for (const row of this.#rows<OperationCount>(operationSums(by), part.since, part.until)) {
        const name = `${row.operation} ${row.code}`;
        found.set(name, { ...row, requests: row.requests + (found.get(name)?.requests ?? 0) });
      }
    }
    return [...found.values()];
  }

  keyOperations(keyId: number, { since, until }: TimeRange): KeyOperation[] {
    return this.#rows<KeyOperation>(keyOperations, keyId, since, until);
  }

  periods(owner: UsageOwner, resolution: UsageResolution, { since, until }: TimeRange): UsagePeriod[] {
    const [owned, id] = 'keyId' in owner ? [ofKey, owner.keyId] : ['account_id = ?1', owner.accountId];
    return this.#rows<UsagePeriod>(periods(resolution, owned), id, since, until);
  }

  topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Promise<KeyUsage[]> {
    return this.#topKeys.read(of, range, limit);
  }

  keysOn(day: number, after: number, limit: number): DayOfKey[] {
    return this.#rows<DayOfKey>(keysOn, day, after, limit);
  }

  lastUses(keyIds: readonly number[], since: number): LastUse[] {
    return this.#rows<LastUse>(lastUses, JSON.stringify(keyIds), since);
  }

  async #steps<Row>(sums: string, by: Steps['by'], { stepMs, ...range }: Omit<Steps, 'by'>): Promise<Row[]> {
    const found: Row[] = [];
    for await (const { since, until } of partsOf(range, by, stepMs))
      found.push(...this.#rows<Row>(sums, stepMs, since, until));
    return found;
  }

  #rows<Row>(select: string, ...values: SqlValue[]): Row[] {
    const rows = this.#read(() => this.#database.query<object, SqlValue[]>(select).all(...values));
    return rows.map(withNumbers<Row>);
  }
}
