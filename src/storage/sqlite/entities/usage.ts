import type { Database } from 'bun:sqlite';
import { withNumbers } from '../../../tables/sql.ts';
import type { SqlValue } from '../../../tables/table.ts';
import type {
  KeyUsage,
  LastUse,
  MinuteUsage,
  TimeRange,
  UsageOwner,
  UsagePeriod,
  UsageResolution,
  UsageStore,
} from '../../admin.ts';
import type { ReadIn } from './entity.ts';
import { TopKeys } from './top-keys.ts';

/** A key never changes its account, by which its rows are found. */
const ofKey = 'account_id = (SELECT account_id FROM keys WHERE id = ?1) AND key_id = ?1';

const minutes = `
  SELECT minute, operation, code, requests FROM usage_minutes
  WHERE minute >= ? AND minute < ? ORDER BY minute, operation, code`;

const periods = (resolution: UsageResolution, owner: string) =>
  `SELECT ${resolution} AS "from", sum(ok) AS ok, sum(refused) AS refused, sum(limited) AS limited,
          sum(failed) AS failed
   FROM usage_${resolution}s WHERE ${owner} AND ${resolution} >= ?2 AND ${resolution} < ?3
   GROUP BY ${resolution} ORDER BY ${resolution}`;

const lastUses = `
  SELECT id AS keyId,
         (SELECT last_used_at FROM usage_days WHERE account_id = keys.account_id AND key_id = keys.id
          ORDER BY day DESC LIMIT 1) AS lastUsedAt,
         (SELECT coalesce(sum(ok + refused + limited + failed), 0) FROM usage_days
          WHERE account_id = keys.account_id AND key_id = keys.id AND day >= ?2) AS requests
  FROM keys WHERE id IN (SELECT value FROM json_each(?1)) AND lastUsedAt IS NOT NULL`;

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

  periods(owner: UsageOwner, resolution: UsageResolution, { since, until }: TimeRange): UsagePeriod[] {
    const [owned, id] = 'keyId' in owner ? [ofKey, owner.keyId] : ['account_id = ?1', owner.accountId];
    return this.#rows<UsagePeriod>(periods(resolution, owned), id, since, until);
  }

  topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Promise<KeyUsage[]> {
    return this.#topKeys.read(of, range, limit);
  }

  lastUses(keyIds: readonly number[], since: number): LastUse[] {
    return this.#rows<LastUse>(lastUses, JSON.stringify(keyIds), since);
  }

  #rows<Row>(select: string, ...values: SqlValue[]): Row[] {
    const rows = this.#read(() => this.#database.query<object, SqlValue[]>(select).all(...values));
    return rows.map(withNumbers<Row>);
  }
}
