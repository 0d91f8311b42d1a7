import type {
  KeyOperationUsage,
  MinuteUsage as OperationMinute,
  OperationUsage,
  TrafficInterval,
  UsageStep,
  usageOperations,
} from '../../contract/admin/usage.ts';
import { type Clock, dayMs, hourMs, minuteMs, startOfDay } from '../../domain/clock.ts';
import { latencyQuantiles } from '../../domain/latency.ts';
import type {
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

type MutableCounts = { -readonly [Name in keyof OutcomeCounts]: number };

/** Dependencies of the reports. Recorded usage is updated every 10 seconds. */
interface Services {
  readonly store: Pick<Store, 'usage' | 'keys' | 'accounts'>;
  readonly clock: Clock;
}

export const usageHandlers = {
  /** Defaults to the last hour; at most 6 hours. */
  listMinutes: async ({ store, clock }, { query }) => {
    const { since, until } = toRange(clock, query, defaultMs.minutes);
    const range = { since: Math.max(since, until - maxRangeMs.minutes), until };
    return groupByOperation(await store.usage.minutes(range));
  },
  getTrafficHistory: readHistory,
  listOperationUsage: readOperations,
  /** Defaults to today (UTC). */
  listTopCallers: (services, { query }) => readTopCallers(services, 'all', query, 0),
  listDeprecatedCallers: (services, { query }) =>
    readTopCallers(services, 'deprecated', query, defaultMs.deprecated),
} satisfies StoreHandlersOf<Services, Omit<typeof usageOperations, 'listFailedRequests'>>;

/** Requests and latency across all instances, per time step. Returns at most the last 1,000 steps. */
async function readHistory(
  { store: { usage }, clock }: Services,
  { query: { step, ...period } }: { readonly query: RequestedRange & { readonly step: UsageStep } },
): Promise<TrafficInterval[]> {
  const { by, stepMs, defaultMs: length } = stepLengths[step];
  const { since, until } = toRange(clock, period, length);
  const begin = Math.max(since, until - maxSteps * stepMs);
  const steps = { by, stepMs, since: begin - (begin % stepMs), until };
  const found = new Map<number, { counts: MutableCounts; latencies: [number, number][] }>();
  const at = (from: number) => {
    const noCounts = { ok: 0, refused: 0, limited: 0, failed: 0 };
    const known = found.get(from) ?? { counts: noCounts, latencies: [] };
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
async function readOperations(
  { store, clock }: Services,
  { query }: { readonly query: RequestedRange },
): Promise<OperationUsage[]> {
  const { since, until } = toRange(clock, query, defaultMs.minutes);
  const by = until - since > maxRangeMs.minutes ? 'hour' : 'minute';
  const { stepMs } = stepLengths[by === 'hour' ? '1h' : '1m'];
  const begin = Math.max(since, until - maxRangeMs.hours);
  const rows = await store.usage.operations({ by, since: begin - (begin % stepMs), until });
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
export async function readKeyOperations(
  { store, clock }: Services,
  keyId: number,
  period: RequestedRange,
): Promise<KeyOperationUsage[]> {
  const { since, until } = toRange(clock, period, defaultMs.deprecated);
  const rows = await store.usage.keyOperations(keyId, { since: startOfDay(since), until });
  return rows.map(({ day, ...row }) => ({ from: toIso(day), ...row }));
}

/** Requests made with a key or by an account, per hour or day. Defaults to the whole retention period. */
export async function readPeriods(
  { store, clock }: Services,
  owner: UsageOwner,
  { resolution, ...period }: RequestedRange & { resolution: UsageResolution },
) {
  const range = toRange(clock, period, defaultMs[resolution]);
  const periods = await store.usage.periods(owner, resolution, range);
  return periods.map(({ from, ...counts }) => ({ from: toIso(from), ...counts }));
}

/** Ends at the current time at the latest, because the maximum period ends with the range. */
function toRange(clock: Clock, period: RequestedRange, defaultLength: number): TimeRange {
  const now = clock.now() + 1;
  const until = Math.min(period.until ?? now, now);
  return { since: period.since ?? until - defaultLength, until };
}

/** The keys with the most requests. Covers whole days only, up to 31. */
async function readTopCallers(
  { store, clock }: Services,
  of: 'all' | 'deprecated',
  { limit, ...period }: RequestedRange & { readonly limit: number },
  defaultLength: number,
) {
  const { since, until } = toRange(clock, period, defaultLength);
  // If `until` is midnight, the last day is the day before.
  const latest = period.since === undefined ? Math.min(since, until - 1) : since;
  const days = { since: startOfDay(Math.max(latest, until - maxRangeMs.days)), until };
  const usages = await store.usage.topKeys(of, days, limit);
  const found = await store.keys.findMany(usages.map(({ keyId }) => keyId));
  const known = mapById(found);
  const accountIds = new Set(usages.map(({ accountId }) => accountId));
  const owners = mapById(await store.accounts.findMany([...accountIds]));
  return usages.map(({ lastUsedAt, ...usage }) => ({
    ...usage,
    keyName: known.get(usage.keyId)?.name ?? '',
    keyLastFour: known.get(usage.keyId)?.lastFour ?? '',
    accountName: owners.get(usage.accountId)?.name ?? '',
    lastUsedAt: toIso(lastUsedAt),
  }));
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
