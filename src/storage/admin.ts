/** What a store keeps for operators: who they are, what they did, and who used how much. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { Role } from '../domain/role.ts';

export interface Operator {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
  /** Of the token. */
  readonly lastFour: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

export type NewOperator = Omit<Operator, 'id' | 'revokedAt'> & { readonly fingerprint: string };

export interface OperatorStore {
  /** All, by ascending id. */
  list(): Awaitable<Operator[]>;
  find(id: number): Awaitable<Operator | undefined>;
  /** Whose token has this SHA-256; not those who are revoked. */
  findByToken(fingerprint: string): Awaitable<Operator | undefined>;
}

/** A session of the console. */
export interface Session {
  /** SHA-256 over its secrets. */
  readonly fingerprint: string;
  /** Undefined: of whoever had the one-time code. */
  readonly operatorId: number | undefined;
  /** As the audit log has it (`actorText`). */
  readonly actor: string;
  readonly role: Role;
  /** Unix ms. */
  readonly usedAt: number;
  readonly expiresAt: number;
}

export interface SessionStore {
  /** Whatever its age. */
  find(fingerprint: string): Awaitable<Session | undefined>;
}

/** A change that an operator made. */
export interface AuditEntry {
  readonly id: bigint;
  /** Unix ms. */
  readonly at: number;
  /** As `actorText` writes it. */
  readonly actor: string;
  /** The unit of work, as `updateAccount`. */
  readonly operation: string;
  /** What was changed, such as `account:7`. */
  readonly object: string;
  /** JSON; `null` for nothing. */
  readonly before: string | null;
  readonly after: string | null;
}

export type NewAuditEntry = Omit<AuditEntry, 'id'>;

/** Which entries: those that fit all that is given. */
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

/** Requests by what became of them. */
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

/** Requests of an operation in a minute, by what became of them. */
export interface MinuteUsage {
  /** Unix ms of its beginning. */
  readonly minute: number;
  /** An operationId, or `none`. */
  readonly operation: string;
  /** `ok`, or an error code. */
  readonly code: string;
  readonly requests: number;
}

/** Requests of a key in a time. */
export interface KeyUsage extends OutcomeCounts {
  readonly keyId: number;
  readonly accountId: number;
  /** Of deprecated operations. */
  readonly deprecated: number;
  /** Unix ms, to the minute. */
  readonly lastUsedAt: number;
}

/** The requests of a key or an account in an hour or a day. */
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

/** Whose requests. */
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
  /**
   * When each of these keys made its last request (Unix ms), and how many in the days (UTC) that begin at `since` or later.
   * None of keys that never made one.
   */
  lastUses(keyIds: readonly number[], since: number): Awaitable<LastUse[]>;
}

/** A process of the service, with its workers. */
export interface Instance {
  readonly name: string;
  readonly version: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** 0: it was stopped in good order. */
  readonly seenAt: number;
}

export interface InstanceStore {
  list(): Awaitable<Instance[]>;
}

/** What a process counted since it last said so, and that it lives. */
export interface UsageReport {
  readonly minutes: readonly MinuteUsage[];
  /** By key; `hour` is the Unix ms of the beginning of the hour. */
  readonly keys: readonly (KeyUsage & { readonly hour: number })[];
  readonly instance: Instance;
}

/** Until when usage is kept, in Unix ms: what is older goes. */
export interface UsageBounds {
  readonly minutes: number;
  readonly hours: number;
  readonly days: number;
  readonly instances: number;
}

export interface OperatorWrites {
  /** Undefined when another operator, who is not revoked, has the name. */
  create(operator: NewOperator): Awaitable<Operator | undefined>;
  find(id: number): Awaitable<Operator | undefined>;
  /** Gives the operator another token. */
  replaceToken(id: number, fingerprint: string, lastFour: string): Awaitable<void>;
  /** Revoking twice keeps the first instant. */
  revoke(id: number, at: number): Awaitable<void>;
}

export interface SessionWrites {
  add(session: Session): Awaitable<void>;
  use(fingerprint: string, usedAt: number): Awaitable<void>;
  remove(fingerprint: string): Awaitable<void>;
  removeOf(operatorId: number): Awaitable<void>;
  /** Those that were not used since `usedBefore` (Unix ms) or have expired at `now`. */
  removeOld(usedBefore: number, now: number): Awaitable<void>;
}

export interface AuditWrites {
  append(entry: NewAuditEntry): Awaitable<void>;
}

export interface UsageWrites {
  /** Adds the counts to those that are there, and notes the sign of life. */
  add(report: UsageReport): Awaitable<void>;
  /** Removes some of what is older than the bounds; tells whether there may be more. */
  prune(bounds: UsageBounds): Awaitable<boolean>;
}

/** What a store tells of itself, by name, for people to read. */
export type StoreFacts = Readonly<Record<string, string | number | boolean | null>>;
