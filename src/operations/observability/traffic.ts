import type { TrafficSecond as TrafficSecondView } from '../../contract/admin/system.ts';
import { type ErrorCode, errors } from '../../contract/errors.ts';
import type { AttemptOutcome } from '../../domain/delivery.ts';
import { type LatencyHistogram, latencyQuantiles } from '../../domain/latency.ts';
import type { OutcomeCounts } from '../../storage/admin.ts';

/** Upper bounds of the latency buckets, in seconds. An additional bucket counts requests above the last bound. */
export const latencyBounds = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
  10,
] as const;

/** How long per-second statistics are retained, in seconds. */
export const retainedSeconds = 300;

interface TrafficCount {
  readonly operation: string;
  readonly code: string;
  readonly requests: number;
}

export interface TrafficLatency {
  readonly operation: string;
  /** Requests in each bucket, not cumulative. The last bucket has no upper bound. */
  readonly buckets: readonly number[];
  readonly sumSeconds: number;
}

/** Statistics for one second within the last five minutes. Seconds without requests are omitted. */
export interface TrafficSecond extends OutcomeCounts {
  /** Start of the second, in Unix seconds. */
  readonly at: number;
  readonly latencies: LatencyHistogram;
}

export interface EventLoopTimes {
  /** Maximum within the last minute, in seconds. */
  readonly maxSeconds: number;
  readonly sumSeconds: number;
  readonly looks: number;
}

/** Whether the output of a process, such as its log, can be written. */
export interface OutputHealth {
  /** Lines lost since the process started. */
  readonly linesLost: number;
  /** Reason why output cannot be written, or lines were lost recently; undefined if output is written. */
  readonly trouble: string | undefined;
}

/** The counters of a process since it started. Plain data, which workers send to the supervisor to be added up. */
export interface Traffic {
  /** Unix ms. A replacement process starts counting from zero. */
  readonly startedAt: number;
  readonly counts: readonly TrafficCount[];
  readonly latencies: readonly TrafficLatency[];
  readonly seconds: readonly TrafficSecond[];
  readonly inFlight: number;
  readonly openStreams: number;
  /** Attempts to deliver events, by outcome. */
  readonly deliveries: Readonly<Record<AttemptOutcome, number>>;
  /** Number of requests and streams that are waiting for new events. */
  readonly eventListeners: number;
  readonly pageCache: { readonly hits: number; readonly misses: number };
  readonly eventLoop: EventLoopTimes;
  readonly memoryBytes: number;
  readonly output: OutputHealth;
  /** Current failures of the store. Another process may not notice them. */
  readonly troubles: readonly string[];
  readonly store: Readonly<Record<string, string | number | boolean | null>>;
}

export interface TrafficSource {
  /** Counters of each process, including processes that have exited, so that sums never decrease. */
  traffic(): Promise<readonly Traffic[]>;
}

type TrafficSum = Omit<Traffic, 'startedAt' | 'store' | 'troubles'>;

export function sumTraffic(all: readonly Traffic[]): TrafficSum {
  const total = (read: (one: Traffic) => number) => all.reduce((sum, one) => sum + read(one), 0);
  return {
    counts: mergeByName(
      all.flatMap(({ counts }) => counts),
      ({ operation, code }) => `${operation} ${code}`,
      (one, other) => ({ ...one, requests: one.requests + other.requests }),
    ),
    latencies: mergeByName(
      all.flatMap(({ latencies }) => latencies),
      ({ operation }) => operation,
      (one, other) => ({
        ...one,
        buckets: one.buckets.map((count, index) => count + (other.buckets[index] ?? 0)),
        sumSeconds: one.sumSeconds + other.sumSeconds,
      }),
    ),
    seconds: mergeByName(
      all.flatMap(({ seconds }) => seconds),
      ({ at }) => at,
      (one, other) => ({
        at: one.at,
        ok: one.ok + other.ok,
        refused: one.refused + other.refused,
        limited: one.limited + other.limited,
        failed: one.failed + other.failed,
        latencies: addHistograms(one.latencies, other.latencies),
      }),
    )
      .sort((one, other) => one.at - other.at)
      .slice(-retainedSeconds),
    inFlight: total(({ inFlight }) => inFlight),
    openStreams: total(({ openStreams }) => openStreams),
    deliveries: {
      succeeded: total(({ deliveries }) => deliveries.succeeded),
      repeated: total(({ deliveries }) => deliveries.repeated),
      failed: total(({ deliveries }) => deliveries.failed),
      expired: total(({ deliveries }) => deliveries.expired),
    },
    eventListeners: total(({ eventListeners }) => eventListeners),
    pageCache: {
      hits: total(({ pageCache }) => pageCache.hits),
      misses: total(({ pageCache }) => pageCache.misses),
    },
    eventLoop: {
      maxSeconds: Math.max(0, ...all.map(({ eventLoop }) => eventLoop.maxSeconds)),
      sumSeconds: total(({ eventLoop }) => eventLoop.sumSeconds),
      looks: total(({ eventLoop }) => eventLoop.looks),
    },
    memoryBytes: total(({ memoryBytes }) => memoryBytes),
    output: {
      linesLost: total(({ output }) => output.linesLost),
      trouble: all.find(({ output }) => output.trouble !== undefined)?.output.trouble,
    },
  };
}

/** Merges items with the same name, in order of first occurrence. */
function mergeByName<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string | number,
  add: (one: Item, other: Item) => Item,
): Item[] {
  const byName = new Map<string | number, Item>();
  for (const item of items) {
    const name = nameOf(item);
    const known = byName.get(name);
    byName.set(name, known === undefined ? item : add(known, item));
  }
  return [...byName.values()];
}

function addHistograms(one: LatencyHistogram, other: LatencyHistogram): LatencyHistogram {
  const sums = new Map(one);
  for (const [bucket, requests] of other) sums.set(bucket, (sums.get(bucket) ?? 0) + requests);
  return [...sums];
}

const nothing: Omit<TrafficSecond, 'at'> = { ok: 0, refused: 0, limited: 0, failed: 0, latencies: [] };

/**
 * Every complete second of the last five minutes, or since the process started if it started later. Includes seconds
 * without requests.
 */
export function fillSeconds(
  seconds: readonly TrafficSecond[],
  startedAt: number,
  now: number,
): TrafficSecondView[] {
  const bySecond = new Map(seconds.map((second) => [second.at, second]));
  const first = Math.max(now - retainedSeconds + 1, startedAt);
  return Array.from({ length: Math.max(0, now - first) }, (_, index) => {
    const { ok, refused, limited, failed, latencies } = bySecond.get(first + index) ?? nothing;
    const [p50 = null, p95 = null, p99 = null] = latencyQuantiles(latencies, [0.5, 0.95, 0.99]);
    return {
      at: new Date((first + index) * 1_000).toISOString(),
      ...{ ok, refused, limited, failed },
      ...{ p50, p95, p99 },
    };
  });
}

/**
 * The outcome for an error code or `ok`. An error code known only to other versions of the service counts as refused.
 */
export function toOutcome(code: string): keyof OutcomeCounts {
  if (code === 'ok') return 'ok';
  const status = Object.hasOwn(errors, code) ? errors[code as ErrorCode].status : 400;
  if (status >= 500) return 'failed';
  return status === 429 ? 'limited' : 'refused';
}
