/** What a store keeps for operators: who they are, what they did, and who used how much. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { AuditEntry, sessions } from '../tables/operators.ts';
import type { Instance, ReportNumber } from '../tables/usage.ts';
import type { EntityWrites } from './entity.ts';

export interface AuditFilter {
  /** Unix ms, this or later. */
  readonly since?: number | undefined;
  /** Unix ms, before this. */
  readonly until?: number | undefined;
  readonly actor?: string | undefined;
  readonly object?: string | undefined;
}

export interface AuditStore {
  /** Up to `limit` entries, by descending time and id: behind the one with the id `before`, from the latest on without it. */
  list(before: bigint | undefined, limit: number, filter: AuditFilter): Awaitable<AuditEntry[]>;
}

export interface OutcomeCounts {
  /** 2xx and 304. */
  readonly ok: number;
  /** 4xx but 429. */
  readonly refused: number;
  /** 429. */
  readonly limited: number;
  /** 5xx. */
  readonly failed: number;
}

export interface MinuteUsage {
  /** Unix ms of its beginning. */
  readonly minute: number;
  /** An operationId, or `none`. */
  readonly operation: string;
  /** `ok`, or an error code. */
  readonly code: string;
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
  /** Unix ms of its beginning. */
  readonly from: number;
}

export type UsageResolution = 'hour' | 'day';

/** A time, in Unix ms: from `since` on, before `until`. */
export interface TimeRange {
  readonly since: number;
  readonly until: number;
}

export type UsageOwner = { readonly keyId: number } | { readonly accountId: number };

/** When a key made its last request (Unix ms), and how many in some days. */
export interface LastUse {
  readonly keyId: number;
  readonly lastUsedAt: number;
  readonly requests: number;
}

export interface UsageStore {
  /** By minute, operation and code. */
  minutes(range: TimeRange): Awaitable<MinuteUsage[]>;
  /** By time; none of periods without requests. */
  periods(owner: UsageOwner, resolution: UsageResolution, range: TimeRange): Awaitable<UsagePeriod[]>;
  /** The keys with the most requests, or the most of deprecated operations, in the days that begin in the range; most first. */
  topKeys(of: 'all' | 'deprecated', range: TimeRange, limit: number): Awaitable<KeyUsage[]>;
  /** Last uses (Unix ms), and requests in the days (UTC) that begin at `since` or later. Omits keys never used. */
  lastUses(keyIds: readonly number[], since: number): Awaitable<LastUse[]>;
}

export interface UsageReport {
  readonly minutes: readonly MinuteUsage[];
  /** By key; `hour` is the Unix ms of the beginning of the hour. */
  readonly keys: readonly (KeyUsage & { readonly hour: number })[];
  /** A report that is sent again has the same number. */
  readonly number: ReportNumber;
  readonly instance: Instance;
}

/** Until when usage is kept, in Unix ms: what is older goes. */
export interface UsageBounds {
  readonly minutes: number;
  readonly hours: number;
  readonly days: number;
  /** A process that sends a report again after its last number was removed is counted twice. */
  readonly reports: number;
  readonly instances: number;
}

export interface SessionWrites extends EntityWrites<typeof sessions> {
  use(fingerprint: string, usedAt: number): Awaitable<void>;
  removeOf(operatorId: number): Awaitable<void>;
  /** Removes sessions that were not used since `usedBefore` (Unix ms) or have expired at `now`. */
  removeOld(usedBefore: number, now: number): Awaitable<void>;
}

export interface UsageWrites {
  /** Records the number of a report; returns whether it is new. Waits for another transaction that has it. */
  isNew(number: ReportNumber): Awaitable<boolean>;
  add(report: Pick<UsageReport, 'minutes' | 'keys'>): Awaitable<void>;
  /** Removes some of what is older than the bounds; tells whether there may be more. */
  prune(bounds: UsageBounds): Awaitable<boolean>;
}

export type StoreFacts = Readonly<Record<string, string | number | boolean | null>>;
