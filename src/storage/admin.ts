/** Interfaces for data that only operators see, such as audit entries and usage. */
import type { OrderStatus } from '../contract/orders.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import type { AuditEntry, sessions } from '../tables/operators.ts';
import type { Instance, ReportNumber } from '../tables/usage.ts';
import type { EntityWrites } from './entity.ts';

export interface AuditFilter {
  /** Unix ms, inclusive. */
  readonly since?: number | undefined;
  /** Unix ms, exclusive. */
  readonly until?: number | undefined;
  readonly actor?: string | undefined;
  readonly object?: string | undefined;
  readonly operation?: string | undefined;
}

export interface AuditStore {
  /**
   * Up to `limit` entries, newest first (by descending time and id). Starts after the entry `before`, or at the newest
   * entry if `before` is undefined.
   */
  list(before: bigint | undefined, limit: number, filter: AuditFilter): Awaitable<AuditEntry[]>;
}

export interface OutcomeCounts {
  /** 2xx and 304 responses. */
  readonly ok: number;
  /** 4xx responses except 429. */
  readonly refused: number;
  /** 429. */
  readonly limited: number;
  /** 5xx. */
  readonly failed: number;
}

export interface MinuteUsage {
  /** Start of the period, Unix ms. */
  readonly minute: number;
  /** An operationId, or `none`. */
  readonly operation: string;
  /** `ok`, or an error code. */
  readonly code: string;
  readonly requests: number;
}

export interface LatencyUsage {
  /** Start of the period, Unix ms. */
  readonly minute: number;
  /** Latency bucket, as defined in `domain/latency.ts`. */
  readonly bucket: number;
  readonly requests: number;
}

export interface KeyUsage extends OutcomeCounts {
  readonly keyId: number;
  readonly accountId: number;
  readonly deprecated: number;
  /** Unix ms, to the minute. */
  readonly lastUsedAt: number;
}

export interface UsagePeriod extends OutcomeCounts {
  /** Start of the period, Unix ms. */
  readonly from: number;
}

export type UsageResolution = 'hour' | 'day';

/** A range in Unix ms: includes `since`, excludes `until`. */
export interface TimeRange {
  readonly since: number;
  readonly until: number;
}

/**
 * A time range divided into intervals of `stepMs`. An interval's numbers are the sums of its per-minute or per-hour
 * rows. Each interval begins at a multiple of `stepMs`.
 */
export interface TimeSteps extends TimeRange {
  readonly by: 'minute' | 'hour';
  readonly stepMs: number;
}

/** Requests in the interval that begins at `from` (Unix ms), by code: an error code or `ok`. */
export interface StepCount {
  readonly from: number;
  readonly code: string;
  readonly requests: number;
}

export interface StepLatency {
  readonly from: number;
  readonly bucket: number;
  readonly requests: number;
}

export type OperationCount = Omit<MinuteUsage, 'minute'>;

/** A key's requests to one operation on one UTC day (Unix ms of the start of the day). */
export interface KeyOperation {
  readonly day: number;
  readonly operation: string;
  readonly requests: number;
}

export type UsageOwner = { readonly keyId: number } | { readonly accountId: number };

/** Time of a key's last request (Unix ms), and the number of requests made with the key on the queried days. */
export interface LastUse {
  readonly keyId: number;
  readonly lastUsedAt: number;
  readonly requests: number;
}

/** A key's requests on one day. */
export interface DayOfKey extends LastUse {
  readonly accountId: number;
}

export interface UsageStore {
  /** Requests by minute, operation and code. */
  minutes(range: TimeRange): Awaitable<MinuteUsage[]>;
  /** Requests by interval and code. Intervals without requests are omitted. */
  counts(steps: TimeSteps): Awaitable<StepCount[]>;
  /** Requests by interval and latency bucket. */
  latencies(steps: TimeSteps): Awaitable<StepLatency[]>;
  /** Requests by operation and code, in the minutes or hours that begin in the range. */
  operations(range: TimeRange & Pick<TimeSteps, 'by'>): Awaitable<OperationCount[]>;
  /** A key's requests by day and operation. */
  keyOperations(keyId: number, range: TimeRange): Awaitable<KeyOperation[]>;
  /** Requests by period, in order. Periods without requests are omitted. */
  periods(owner: UsageOwner, resolution: UsageResolution, range: TimeRange): Awaitable<UsagePeriod[]>;
  /**
   * The keys with the most requests, or the most requests to deprecated operations, on the days that begin in the
   * range, highest count first.
   */
  topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Awaitable<KeyUsage[]>;
  /**
   * Up to `limit` keys used on the day that begins at `day` (Unix ms), by ascending id, starting after the id `after`.
   */
  keysOn(day: number, after: number, limit: number): Awaitable<DayOfKey[]>;
  /**
   * Last use (Unix ms) of each key, and its requests on the UTC days that begin at `since` or later. Omits keys that
   * were never used.
   */
  lastUses(keyIds: readonly number[], since: number): Awaitable<LastUse[]>;
}

/** Ids after `after`, up to and including `until`. */
export interface Span {
  readonly after: bigint;
  readonly until: bigint;
}

export type SearchedTable = 'accounts' | 'keys' | 'pets';

export interface SearchStore {
  /**
   * Up to `limit` ids of rows in the span whose name contains the text, in ascending order. For accounts, the text must
   * be folded with `foldCase`; for other tables, its ASCII letters must be lowercase. Key searches also match the last
   * four characters. Reads every row in the span.
   */
  containing(of: SearchedTable, text: string, span: Span, limit: number): Awaitable<bigint[]>;
  /** The lowest id above `after`; undefined if there is none. */
  nextId(of: SearchedTable, after: bigint): Awaitable<bigint | undefined>;
  /**
   * Up to `limit` ids of orders whose reference begins with the text, sorted by reference and id. The cost does not
   * depend on the size of the store.
   */
  ordersReferring(prefix: string, limit: number): Awaitable<bigint[]>;
  /** Number of orders with the status, counted up to `limit`. */
  countOrders(status: OrderStatus, limit: number): Awaitable<number>;
  /** Number of closed accounts, counted up to `limit`. */
  countClosedAccounts(limit: number): Awaitable<number>;
}

/** A key's requests in the hour that begins at `hour` (Unix ms). */
export interface KeyHour extends KeyUsage {
  readonly hour: number;
  readonly operations: readonly Pick<KeyOperation, 'operation' | 'requests'>[];
}

export type UsageRows = Pick<UsageReport, 'minutes' | 'latencies' | 'keys'>;

export interface UsageReport {
  readonly minutes: readonly MinuteUsage[];
  readonly latencies: readonly LatencyUsage[];
  readonly keys: readonly KeyHour[];
  /** Report number. A retry of a report has the same number. */
  readonly number: ReportNumber;
  readonly instance: Instance;
}

/** Times (Unix ms) before which usage data is deleted. */
export interface UsageBounds {
  readonly minutes: number;
  /** Applies to hourly requests and latencies, and to daily requests by key and operation. */
  readonly history: number;
  readonly hours: number;
  readonly days: number;
  /** Applies to report numbers. A report that is retried after its number was deleted is counted twice. */
  readonly reports: number;
  readonly instances: number;
}

/** Maximum number of sessions removed by one statement. Exceeds the number of sessions of an operator. */
export const sessionRemovalBatch = 500;
/** Number of expired sessions removed by a sign-in. Must be above 1, so that the table shrinks. */
export const expiredSessionBatch = 20;

export interface SessionWrites extends EntityWrites<typeof sessions> {
  /** Waits for a transaction that changes the operator, and keeps others from doing so before this one ends. */
  lockOperator(operatorId: number): Awaitable<void>;
  use(fingerprint: string, usedAt: number): Awaitable<void>;
  /** Removes the operator's sessions except the `kept` most recently used. Removes at most 500 sessions. */
  removeOf(operatorId: number, kept: number): Awaitable<void>;
  /** Removes some sessions that were last used before `usedBefore` (Unix ms) or have expired by `now`. */
  removeOld(usedBefore: number, now: number): Awaitable<void>;
}

export const usagePruneBatch = 1_000;

export interface UsageWrites {
  /**
   * Records the number of a report and returns whether the number is new. Waits for any concurrent transaction with the
   * same number.
   */
  isNew(number: ReportNumber): Awaitable<boolean>;
  add(rows: UsageRows): Awaitable<void>;
  /** Deletes up to 1,000 rows older than the bounds. Returns whether more rows may remain. */
  prune(bounds: UsageBounds): Awaitable<boolean>;
}

export type StoreFacts = Readonly<Record<string, string | number | boolean | null>>;
