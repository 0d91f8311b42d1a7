import type { usageOperations } from '../../contract/admin/usage.ts';
import { type Clock, dayMs, dayOf, hourMs } from '../../domain/clock.ts';
import type { KeyUsage, MinuteUsage, TimeRange, UsageOwner, UsageResolution } from '../../storage/admin.ts';
import { iso } from '../shown.ts';
import type { Store } from '../units.ts';
import { mapById } from './bans.ts';
import type { HandlersOf } from './handlers.ts';

const defaultMs = { minutes: hourMs, hour: 7 * dayMs, day: 400 * dayMs, deprecated: 30 * dayMs } as const;

/** The longest time that is reported at once; of a longer one, the end. A read of an embedded store blocks the event loop. */
const longestMs = { minutes: 6 * hourMs, days: 31 * dayMs } as const;

/** A requested range, in Unix ms. */
interface AskedRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

interface OperationMinute {
  readonly minute: string;
  readonly operation: string;
  readonly codes: Record<string, number>;
}

/** Who makes how many requests, as it was recorded: those of the last 10 seconds may be missing. */
export class UsageReports {
  readonly #store: Pick<Store, 'usage' | 'keys' | 'accounts'>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, 'usage' | 'keys' | 'accounts'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Requests by minute and operation, of the last hour unless asked otherwise; 6 hours at most. */
  async minutes(asked: AskedRange): Promise<OperationMinute[]> {
    const { since, until } = this.#range(asked, defaultMs.minutes);
    const range = { since: Math.max(since, until - longestMs.minutes), until };
    return minutesByOperation(await this.#store.usage.minutes(range));
  }

  /** Requests of a key or an account by hour or day, as far back as they are kept unless asked otherwise. */
  async periods(owner: UsageOwner, { resolution, ...asked }: AskedRange & { resolution: UsageResolution }) {
    const range = this.#range(asked, defaultMs[resolution]);
    const periods = await this.#store.usage.periods(owner, resolution, range);
    return periods.map(({ from, ...counts }) => ({ from: iso(from), ...counts }));
  }

  /** The keys with the most requests, of today (UTC) unless asked otherwise; whole days are counted, 31 at most. */
  async topCallers(asked: AskedRange, limit: number) {
    return this.#named(await this.#store.usage.topKeys('all', this.#days(asked, 0), limit));
  }

  /** The keys with the most requests of deprecated operations, of the last 30 days unless asked otherwise. */
  async deprecatedCallers(asked: AskedRange, limit: number) {
    const range = this.#days(asked, defaultMs.deprecated);
    return this.#named(await this.#store.usage.topKeys('deprecated', range, limit));
  }

  #range({ since, until = this.#clock.now() + 1 }: AskedRange, defaultLength: number): TimeRange {
    return { since: since ?? until - defaultLength, until };
  }

  #days(asked: AskedRange, defaultLength: number): TimeRange {
    const { since, until } = this.#range(asked, defaultLength);
    return { since: dayOf(Math.max(since, until - longestMs.days)), until };
  }

  async #named(usages: readonly KeyUsage[]) {
    const { keys, accounts } = this.#store;
    const found = await keys.findMany(usages.map(({ keyId }) => keyId));
    const known = mapById(found);
    const accountIds = new Set(usages.map(({ accountId }) => accountId));
    const owners = mapById(await accounts.findMany([...accountIds]));
    return usages.map(({ lastUsedAt, ...usage }) => ({
      ...usage,
      keyName: known.get(usage.keyId)?.name ?? '',
      keyLastFour: known.get(usage.keyId)?.lastFour ?? '',
      accountName: owners.get(usage.accountId)?.name ?? '',
      lastUsedAt: iso(lastUsedAt),
    }));
  }
}

function minutesByOperation(rows: readonly MinuteUsage[]): OperationMinute[] {
  const found = new Map<string, OperationMinute>();
  for (const { minute, operation, code, requests } of rows) {
    const name = `${minute} ${operation}`;
    const row = found.get(name) ?? { minute: iso(minute), operation, codes: {} };
    row.codes[code] = (row.codes[code] ?? 0) + requests;
    found.set(name, row);
  }
  return [...found.values()];
}

export const usageHandlers = {
  listMinutes: ({ usage }, { query }) => usage.minutes(query),
  listTopCallers: ({ usage }, { query }) => usage.topCallers(query, query.limit),
  listDeprecatedCallers: ({ usage }, { query }) => usage.deprecatedCallers(query, query.limit),
} satisfies HandlersOf<{ readonly usage: UsageReports }, typeof usageOperations>;
