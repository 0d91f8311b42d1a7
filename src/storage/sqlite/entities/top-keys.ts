import type { Database } from 'bun:sqlite';
import { eventLoopTick } from '../../../domain/event-loop.ts';
import { withNumbers } from '../../../tables/sql.ts';
import type { KeyUsage, TimeRange } from '../../admin.ts';
import type { ReadIn } from './entity.ts';

type Of = 'all' | 'deprecated';

/** Maximum number of rows per read. A day may have a row for every key, so requests are served between reads. */
const rowBatch = 2_000;

type CountRow = [day: bigint, keyId: bigint, count: bigint];

const counts = (count: string, condition: string) =>
  `SELECT day, key_id, ${count} FROM usage_days
   WHERE (day, key_id) > (?, ?) AND day < ? ${condition} ORDER BY day, key_id LIMIT ${rowBatch}`;

const sums = `
  SELECT key_id AS keyId, max(account_id) AS accountId, sum(ok) AS ok, sum(refused) AS refused,
         sum(limited) AS limited, sum(failed) AS failed, sum(deprecated) AS deprecated,
         max(last_used_at) AS lastUsedAt
  FROM usage_days
  WHERE account_id = (SELECT account_id FROM keys WHERE id = ?1) AND key_id = ?1 AND day >= ?2 AND day < ?3
  GROUP BY key_id`;

/** Finds the keys with the most requests. Sums the requests of all keys, but reads details only for the top keys. */
export class TopKeys {
  readonly #read: ReadIn;
  readonly #counts;
  readonly #sums;

  constructor(database: Database, read: ReadIn) {
    this.#read = read;
    const query = (count: string, condition: string) =>
      database.query<never, [number | bigint, bigint, number]>(counts(count, condition));
    this.#counts = {
      all: query('ok + refused + limited + failed', ''),
      deprecated: query('deprecated', 'AND deprecated > 0'),
    };
    this.#sums = database.query<object, [number, number, number]>(sums);
  }

  async read(of: Of, range: TimeRange, limit: number): Promise<KeyUsage[]> {
    const first = topKeysOf(await this.#totals(of, range), limit);
    const { since, until } = range;
    return this.#read(() =>
      first.flatMap((keyId) => this.#sums.all(keyId, since, until)).map(withNumbers<KeyUsage>),
    );
  }

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
      await eventLoopTick();
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
