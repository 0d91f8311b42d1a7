import type { KeyUsage, TimeRange } from '../../admin.ts';
import { keyUsagesSql, requestsSql, UsageQueries } from '../../queries/usage.ts';
import { PostgresEngine } from '../engine.ts';
import type { Runner } from '../statements.ts';

const lastUses = `SELECT latest.key_id AS "keyId", last_used_at AS "lastUsedAt", requests
  FROM json_array_elements_text($1::text::json) AS wanted (id)
  CROSS JOIN LATERAL (
    SELECT key_id, last_used_at FROM usage_days WHERE (key_id, day) <= (id::bigint, 9223372036854775807)
    ORDER BY key_id DESC, day DESC LIMIT 1
  ) AS latest
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(${requestsSql}), 0)::bigint AS requests FROM usage_days
    WHERE key_id = id::bigint AND day >= $2
  ) AS counted
  WHERE latest.key_id = id::bigint`;

const topKeys = (condition: string, order: string) =>
  `${keyUsagesSql} WHERE day >= $1 AND day < $2 AND ${condition}
   GROUP BY key_id ORDER BY sum(${order}) DESC, key_id LIMIT $3`;

const topKeysOf = { all: topKeys('true', requestsSql), deprecated: topKeys('deprecated > 0', 'deprecated') };

export class PostgresUsage extends UsageQueries {
  constructor(runner: Runner) {
    super(new PostgresEngine(runner), { ofKey: 'key_id = $1', lastUses });
  }

  protected parts(range: TimeRange): TimeRange[] {
    return [range];
  }

  async topKeys(of: 'all' | 'deprecated', { since, until }: TimeRange, limit: number): Promise<KeyUsage[]> {
    return this.rows(topKeysOf[of], since, until, limit);
  }
}
