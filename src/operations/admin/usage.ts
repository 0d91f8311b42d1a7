import type {
  KeyOperationUsage,
  OperationUsage,
  TrafficInterval,
  UsageStep,
  usageOperations,
} from '../../contract/admin/usage.ts';
import { type Clock, dayMs, hourMs, minuteMs, startOfDay } from '../../domain/clock.ts';
import { latencyQuantiles } from '../../domain/latency.ts';
import type {
  KeyUsage,
  MinuteUsage,
  OutcomeCounts,
  TimeRange,
  TimeSteps,
  UsageOwner,
  UsageResolution,
} from '../../storage/admin.ts';
import type { FailedRequestSource } from '../observability/failed-requests.ts';
import { toOutcome } from '../observability/traffic.ts';
import { toIso } from '../presenters.ts';
import { historyRetentionMs } from '../sweeper.ts';
import type { Store } from '../units.ts';
import { mapById } from './bans.ts';
import type { HandlersOf, StoreHandlersOf } from './handlers.ts';
import { toNumericId } from './ids.ts';

const defaultMs = { minutes: hourMs, hour: 7 * dayMs, day: 400 * dayMs, deprecated: 30 * dayMs } as const;

/**
 * Maximum period of a report. If a longer period is requested, only the most recent part is returned, because a read
 * blocks the event loop of an embedded store.
 */
const maxRangeMs = { minutes: 6 * hourMs, hours: historyRetentionMs, days: 31 * dayMs } as const;

/** The requested range, in Unix ms. */
interface RequestedRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

interface StepLength extends Pick<TimeSteps, 'by' | 'stepMs'> {
  /** Default length of the reported period. */
  readonly defaultMs: number;
}

const stepLengths: Readonly<Record<UsageStep, StepLength>> = {
  '1m': { by: 'minute', stepMs: minuteMs, defaultMs: hourMs },
  '5m': { by: 'minute', stepMs: 5 * minuteMs, defaultMs: dayMs },
  '1h': { by: 'hour', stepMs: hourMs, defaultMs: 7 * dayMs },
  '6h': { by: 'hour', stepMs: 6 * hourMs, defaultMs: 30 * dayMs },
  '1d': { by: 'hour', stepMs: dayMs, defaultMs: 30 * dayMs },
};

const maxSteps = 1_000;

interface OperationMinute {
  readonly minute: string;
  readonly operation: string;
  readonly codes: Record<string, number>;
}

type MutableCounts = { -readonly [Name in keyof OutcomeCounts]: number };

/** Reports on recorded usage, which is updated every 10 seconds. */
export class UsageReports {
  readonly #store: Pick<Store, 'usage' | 'keys' | 'accounts'>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, 'usage' | 'keys' | 'accounts'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Requests per minute and operation. Defaults to the last hour; at most 6 hours. */
  async minutes(period: RequestedRange): Promise<OperationMinute[]> {
    const { since, until } = this.#range(period, defaultMs.minutes);
    const range = { since: Math.max(since, until - maxRangeMs.minutes), until };
    return groupByOperation(await this.#store.usage.minutes(range));
  }

  /** Requests and latency across all instances, per time step. Returns at most the last 1,000 steps. */
  async history({
    step,
    ...period
  }: RequestedRange & { readonly step: UsageStep }): Promise<TrafficInterval[]> {
    const { by, stepMs, defaultMs: length } = stepLengths[step];
    const { since, until } = this.#range(period, length);
    const begin = Math.max(since, until - maxSteps * stepMs);
    const steps = { by, stepMs, since: begin - (begin % stepMs), until };
    const { usage } = this.#store;
    const found = new Map<number, { counts: MutableCounts; latencies: [number, number][] }>();
    const at = (from: number) => {
      const known = found.get(from) ?? {
        counts: { ok: 0, refused: 0, limited: 0, failed: 0 },
        latencies: [],
      };
      found.set(from, known);
      return known;
    };
    for (const { from, code, requests } of await usage.counts(steps))
      at(from).counts[toOutcome(code)] += requests;
    for (const { from, bucket, requests } of await usage.latencies(steps))
      at(from).latencies.push([bucket, requests]);
    return [...found]
      .sort(([one], [other]) => one - other)
      .map(([from, { counts, latencies }]) => {
        const [p50 = null, p95 = null, p99 = null] = latencyQuantiles(latencies, [0.5, 0.95, 0.99]);
        return { from: toIso(from), ...counts, p50, p95, p99 };
      });
  }

  /** Requests by operation and outcome, most frequent first. Defaults to the last hour. */
  async operations(period: RequestedRange): Promise<OperationUsage[]> {
    const { since, until } = this.#range(period, defaultMs.minutes);
    const by = until - since > maxRangeMs.minutes ? 'hour' : 'minute';
    const { stepMs } = stepLengths[by === 'hour' ? '1h' : '1m'];
    const begin = Math.max(since, until - maxRangeMs.hours);
    const rows = await this.#store.usage.operations({ by, since: begin - (begin % stepMs), until });
    const totals = new Map<string, { codes: Record<string, number>; total: number }>();
    for (const { operation, code, requests } of rows) {
      const { codes, total } = totals.get(operation) ?? { codes: {}, total: 0 };
      totals.set(operation, { codes: { ...codes, [code]: requests }, total: total + requests });
    }
    return [...totals]
      .sort(([one, { total }], [other, its]) => its.total - total || (one < other ? -1 : 1))
      .map(([operation, { codes }]) => ({ operation, codes }));
  }

  /** A key's requests per day and operation. Defaults to the last 30 days. */
  async keyOperations(keyId: number, period: RequestedRange): Promise<KeyOperationUsage[]> {
    const { since, until } = this.#range(period, defaultMs.deprecated);
    const rows = await this.#store.usage.keyOperations(keyId, { since: startOfDay(since), until });
    return rows.map(({ day, ...row }) => ({ from: toIso(day), ...row }));
  }

  /** Requests made with a key or by an account, per hour or day. Defaults to the whole retention period. */
  async periods(
    owner: UsageOwner,
    { resolution, ...period }: RequestedRange & { resolution: UsageResolution },
  ) {
    const range = this.#range(period, defaultMs[resolution]);
    const periods = await this.#store.usage.periods(owner, resolution, range);
    return periods.map(({ from, ...counts }) => ({ from: toIso(from), ...counts }));
  }

  /** The keys with the most requests. Defaults to today (UTC). Covers whole days only, up to 31. */
  async topCallers(period: RequestedRange, limit: number) {
    return this.#named(await this.#store.usage.topKeys('all', this.#wholeDays(period, 0), limit));
  }

  /** The keys with the most requests to deprecated operations. Defaults to the last 30 days. */
  async deprecatedCallers(period: RequestedRange, limit: number) {
    const range = this.#wholeDays(period, defaultMs.deprecated);
    return this.#named(await this.#store.usage.topKeys('deprecated', range, limit));
  }

  /** Ends at the current time at the latest, because the maximum period ends with the range. */
  #range(period: RequestedRange, defaultLength: number): TimeRange {
    const now = this.#clock.now() + 1;
    const until = Math.min(period.until ?? now, now);
    return { since: period.since ?? until - defaultLength, until };
  }

  #wholeDays(period: RequestedRange, defaultLength: number): TimeRange {
    const { since, until } = this.#range(period, defaultLength);
    // If `until` is midnight, the last day is the day before.
    const latest = period.since === undefined ? Math.min(since, until - 1) : since;
    return { since: startOfDay(Math.max(latest, until - maxRangeMs.days)), until };
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
      lastUsedAt: toIso(lastUsedAt),
    }));
  }
}

function groupByOperation(rows: readonly MinuteUsage[]): OperationMinute[] {
  const found = new Map<string, OperationMinute>();
  for (const { minute, operation, code, requests } of rows) {
    const name = `${minute} ${operation}`;
    const row = found.get(name) ?? { minute: toIso(minute), operation, codes: {} };
    row.codes[code] = (row.codes[code] ?? 0) + requests;
    found.set(name, row);
  }
  return [...found.values()];
}

export const usageHandlers = {
  listMinutes: ({ usage }, { query }) => usage.minutes(query),
  getTrafficHistory: ({ usage }, { query }) => usage.history(query),
  listOperationUsage: ({ usage }, { query }) => usage.operations(query),
  listTopCallers: ({ usage }, { query }) => usage.topCallers(query, query.limit),
  listDeprecatedCallers: ({ usage }, { query }) => usage.deprecatedCallers(query, query.limit),
} satisfies StoreHandlersOf<
  { readonly usage: UsageReports },
  Omit<typeof usageOperations, 'listFailedRequests'>
>;

/** Available only in the serving process. */
export const failedRequestHandlers: HandlersOf<
  { readonly failedRequests: FailedRequestSource },
  Pick<typeof usageOperations, 'listFailedRequests'>
> = {
  listFailedRequests: async ({ failedRequests }, { query: { keyId, requestId, limit } }) => {
    const filter = { keyId: keyId === undefined ? undefined : toNumericId(keyId), requestId, limit };
    return [...(await failedRequests.list(filter))];
  },
};
