import type { Database } from 'bun:sqlite';
import { hourMs, minuteMs } from '../../../domain/clock.ts';
import { nextTick } from '../../../domain/pacer.ts';
import type { KeyUsage, TimeRange, TimeSteps } from '../../admin.ts';
import { keyUsagesSql, requestsSql, UsageQueries } from '../../queries/usage.ts';
import { SqliteEngine } from '../engine.ts';
import type { RunRead } from './entity.ts';
import { TopKeys } from './top-keys.ts';

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

export class SqliteUsage extends UsageQueries {
  readonly #topKeys: TopKeys;

  constructor(database: Database, read: RunRead) {
    super(new SqliteEngine(database, read), { ofKey, lastUses });
    this.#topKeys = new TopKeys(database, read);
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

  async topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Promise<KeyUsage[]> {
    const { since, until } = range;
    const found: KeyUsage[] = [];
    for (const keyId of await this.#topKeys.read(of, range, limit))
      found.push(...(await this.rows<KeyUsage>(usagesOfKey, keyId, since, until)));
    return found;
  }
}
