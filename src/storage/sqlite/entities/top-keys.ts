import type { Database } from 'bun:sqlite';
import { nextTick } from '../../../domain/pacer.ts';
import type { TimeRange } from '../../admin.ts';
import { requestsSql } from '../../queries/usage.ts';
import type { RunRead } from './entity.ts';

type Of = 'all' | 'deprecated';

/** Maximum number of rows per read. A day may have a row for every key, so requests are served between reads. */
const rowBatch = 2_000;

type CountRow = [day: bigint, keyId: bigint, count: bigint];

const counts = (count: string, condition: string) =>
  `SELECT day, key_id, ${count} FROM usage_days
   WHERE (day, key_id) > (?, ?) AND day < ? ${condition} ORDER BY day, key_id LIMIT ${rowBatch}`;

/** Finds the keys with the most requests. Sums the requests of all keys. */
export class TopKeys {
  readonly #read: RunRead;
  readonly #counts;

  constructor(database: Database, read: RunRead) {
    this.#read = read;
    const query = (count: string, condition: string) =>
      database.query<never, [number | bigint, bigint, number]>(counts(count, condition));
    this.#counts = {
      all: query(requestsSql, ''),
      deprecated: query('deprecated', 'AND deprecated > 0'),
    };
  }

  /** Returns the ids of the keys, highest count first. */
  async read(of: Of, range: TimeRange, limit: number): Promise<number[]> {
    return topKeysOf(await this.#totals(of, range), limit);
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
