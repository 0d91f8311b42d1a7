import type { Database } from 'bun:sqlite';
import { hourMs, minuteMs } from '../../../domain/clock.ts';
import { nextTick } from '../../../domain/pacer.ts';
import type { KeyUsage, TimeRange, TimeSteps } from '../../admin.ts';
import { keyUsagesSql, requestsSql, UsageQueries } from '../../queries/usage.ts';
import { SqliteEngine } from '../engine.ts';
import type { RunRead } from './entity.ts';

/** Also filters by account, because the index begins with the account. A key's account never changes. */
const ofKey = 'account_id = (SELECT account_id FROM keys WHERE id = $1) AND key_id = $1';

const usagesOfKey = `${keyUsagesSql} WHERE ${ofKey} AND day >= $2 AND day < $3 GROUP BY key_id`;

const lastUses = `SELECT id AS keyId,
    (SELECT last_used_at FROM usage_days WHERE account_id = keys.account_id AND key_id = keys.id
     ORDER BY day DESC LIMIT 1) AS lastUsedAt,
    (SELECT coalesce(sum(${requestsSql}), 0) FROM usage_days
     WHERE account_id = keys.account_id AND key_id = keys.id AND day >= $2) AS requests
  FROM keys WHERE id IN (SELECT value FROM json_each($1)) AND lastUsedAt IS NOT NULL`;

/** Number of minutes or hours summed in one event-loop tick. Requests are served between ticks. */
const partPeriods = 240;

type Of = 'all' | 'deprecated';

/** Maximum number of rows per read. A day may have a row for every key, so requests are served between reads. */
const rowBatch = 2_000;

type CountRow = [day: bigint, keyId: bigint, count: bigint];

const counts = (count: string, condition: string) =>
  `SELECT day, key_id, ${count} FROM usage_days
   WHERE (day, key_id) > (?, ?) AND day < ? ${condition} ORDER BY day, key_id LIMIT ${rowBatch}`;

export class SqliteUsage extends UsageQueries {
  readonly #read: RunRead;
  readonly #counts;

  constructor(database: Database, read: RunRead) {
    super(new SqliteEngine(database, read), { ofKey, lastUses });
    this.#read = read;
    const query = (count: string, condition: string) =>
      database.query<never, [number | bigint, bigint, number]>(counts(count, condition));
    this.#counts = { all: query(requestsSql, ''), deprecated: query('deprecated', 'AND deprecated > 0') };
  }

  /** Splits a range into parts that contain only whole intervals, and yields to the event loop after each part. */
  protected async *parts(
    { since, until }: TimeRange,
    by: TimeSteps['by'],
    stepMs = 1,
  ): AsyncGenerator<TimeRange> {
    const wantedMs = partPeriods * (by === 'minute' ? minuteMs : hourMs);
    const partMs = Math.max(stepMs, wantedMs - (wantedMs % stepMs));
    for (let from = since; from < until; ) {
      const to = Math.min(until, from - (from % stepMs) + partMs);
      yield { since: from, until: to };
      from = to;
      await nextTick();
    }
  }

  async topKeys(of: Of, range: TimeRange, limit: number): Promise<KeyUsage[]> {
    const { since, until } = range;
    const found: KeyUsage[] = [];
    for (const keyId of topKeysOf(await this.#totals(of, range), limit))
      found.push(...(await this.rows<KeyUsage>(usagesOfKey, keyId, since, until)));
    return found;
  }

  /** Sums the requests of all keys. */
  async #totals(of: Of, { since, until }: TimeRange): Promise<Map<number, number>> {
    const totals = new Map<number, number>();
    // Key ids start at 1.
    for (let [day, key]: [number | bigint, bigint] = [since, 0n]; ; ) {
      const rows = this.#read(() => this.#counts[of].values(day, key, until)) as CountRow[];
      for (const [, keyId, count] of rows) {
        const id = Number(keyId);
        totals.set(id, (totals.get(id) ?? 0) + Number(count));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowBatch) return totals;
      [day, key] = last;
      await nextTick();
    }
  }
}

/** The keys with the highest totals, highest first. Only the totals are sorted, as plain numbers. */
function topKeysOf(totals: ReadonlyMap<number, number>, limit: number): number[] {
  const minCount = Float64Array.from(totals.values()).sort().at(-limit) ?? 0;
  return [...totals]
    .filter(([, count]) => count >= minCount)
    .sort(([key, count], [other, its]) => its - count || key - other)
    .slice(0, limit)
    .map(([key]) => key);
}
