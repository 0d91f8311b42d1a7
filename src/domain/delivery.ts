/** Delivery types that the store and the sending process share. Times are Unix ms. */
import type { DeliveryStatus } from './delivery-status.ts';
import type { EventType } from './event-type.ts';
import type { Scope } from './scope.ts';

/** Maximum requests in flight: to one webhook from all processes, and to all webhooks from one process. */
export const maxInFlight = { perWebhook: 4, perProcess: 100 } as const;
/** Maximum number of test events in flight. */
export const maxTests = { perAccount: 4, perProcess: 100 } as const;

/** A webhook with this many pending deliveries of a scope gets no new ones; its events wait in the outbox. */
export const maxPending = 1_000;
/**
 * If the events of a scope may not be sent now, the webhook still gets new deliveries until its position is this many
 * events after the first of them. Comparing ids costs less than counting deliveries in every round.
 */
export const maxHeldEvents = 5_000;

/**
 * Limits per unit of work: the number of webhooks, the number of events examined for each webhook, and the number
 * examined for all webhooks.
 */
export const leaseLimits = { webhooks: 50, events: 100, eventsOfAll: 500 } as const;

/** Number of events to examine for each of the webhooks that are behind. */
export function eventBatchSize(behind: number): number {
  return Math.min(leaseLimits.events, Math.floor(leaseLimits.eventsOfAll / Math.max(behind, 1)));
}

/**
 * Outcomes of attempts. `repeated` is a failure that will be retried; `expired` is an event that expired before it was
 * sent.
 */
const attemptOutcomes = ['succeeded', 'repeated', 'failed', 'expired'] as const;

export type AttemptOutcome = (typeof attemptOutcomes)[number];

export interface DeliveryBacklog {
  /** Number of pending deliveries, capped at 10,000. */
  readonly pending: number;
  /** Creation time of the oldest pending delivery to an enabled webhook; undefined if there is none. */
  readonly oldestAt: number | undefined;
}

/** Maximum number of pending deliveries counted for metrics. */
export const maxCountedPending = 10_000;
export const maxWebhooksRead = 1_000;

/** The scopes of the events that may be sent to an account's webhooks. */
export interface SendableEvents {
  readonly accountId: number;
  readonly scopes: readonly Scope[];
}

export interface LeaseRequest {
  readonly now: number;
  /** End of the lease. */
  readonly leasedUntil: number;
  /** Maximum number of deliveries to lease. */
  readonly room: number;
  /** Number of places that are free. */
  readonly free: number;
  /** Number of requests in flight. */
  readonly inFlight: Readonly<Record<Pool, number>>;
  /**
   * Number of deliveries to lease, by webhook id, for webhooks that already have deliveries leased by this process. No
   * other process leases deliveries of these webhooks.
   */
  readonly held: Readonly<Record<string, number>>;
  /** Number of deliveries that this process has leased, by account id. */
  readonly used: Readonly<Record<Pool, Readonly<Record<string, number>>>>;
  /** Number of accounts with recent requests. */
  readonly activeAccounts: number;
  /** Accounts with fast or slow receivers that have recently not answered requests for three seconds. */
  readonly distrusted: readonly number[];
  /** Webhooks whose receivers have recently responded quickly. */
  readonly fast: readonly bigint[];
  /** Webhooks whose receivers have recently responded slowly, or have been sent a request for more than a second. */
  readonly slow: readonly bigint[];
  /** Webhooks whose receivers have recently not responded. */
  readonly stalled: readonly bigint[];
  /**
   * Webhooks whose queues of deliveries were full recently. Only their due deliveries are considered, because counting
   * a webhook's pending deliveries is slow.
   */
  readonly full: readonly bigint[];
  /** Whether all webhooks are examined, or only fast ones. */
  readonly isForAll: boolean;
  /** Only webhooks with a greater id are examined. The result of the previous round; 0 in the first. */
  readonly after: bigint;
  /** Webhooks with leased deliveries that this process has not started to send. */
  readonly waiting: readonly bigint[];
  /** Maximum number of deliveries per second and account. */
  readonly perSecond: number;
  /**
   * Random number in [0, 1). Decides which account and which of its webhooks is the first in this round, so that one
   * backlog does not use up the pace.
   */
  readonly turn: number;
}

/** An event to send. */
export interface LeasedDelivery {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly accountId: number;
  /** The pool that the webhook was in when the delivery was leased. */
  readonly pool: Pool;
  readonly eventId: bigint;
  readonly type: EventType;
  /** JSON of the attempts so far. */
  readonly attempts: string;
  readonly createdAt: number;
  readonly leasedUntil: number;
  readonly url: string;
  /** Whether the webhook still selects events of this type. If not, the delivery ends without an attempt. */
  readonly isSelected: boolean;
  /** Encrypted secret. */
  readonly secret: string;
  readonly formerSecret: string | null;
  readonly formerSecretUntil: number | null;
}

export interface RescheduleRequest {
  /** Only deliveries with a greater id are examined. */
  readonly after: bigint;
  readonly now: number;
  /** The latest time until which a process that has the same clock may have leased a delivery. */
  readonly latestLease: number;
  /** The latest time to which a retry may have been scheduled. */
  readonly latestRetry: number;
}

export interface LeaseResult {
  readonly deliveries: readonly LeasedDelivery[];
  /** Pass this as `after` in the next request. */
  readonly after: bigint;
  /** Whether the next request may find more deliveries immediately. */
  readonly isMore: boolean;
  /** Whether a webhook has more events to examine. */
  readonly isBehind: boolean;
  /** Webhooks that are behind, but whose queues of deliveries are full. */
  readonly full: readonly bigint[];
  /** Number of events that expired before deliveries were created for them. */
  readonly expired: number;
  /** Whether an account has used up its pace, so that some of its deliveries may be due. */
  readonly isPaced: boolean;
  /** How the events of the webhooks in `waiting` are sent now, by webhook id. Omits disabled and deleted webhooks. */
  readonly sendingStates: Readonly<Record<string, SendingState>>;
}

export interface DispatchResult extends LeaseResult {
  /** The ids of deliveries whose outcomes must be stored later, because another transaction has locked them. */
  readonly locked: readonly bigint[];
}

export interface SendingState extends Pick<LeasedDelivery, 'url' | 'secret' | 'formerSecret'> {
  /** The types of the events that the webhook selects. */
  readonly types: readonly EventType[];
  /** The scopes of the events that may be sent. */
  readonly scopes: readonly Scope[];
}

/** The outcome of an attempt. Ignored if the lease was lost. */
export interface SettledDelivery {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly leasedUntil: number;
  readonly status: DeliveryStatus;
  /** The attempts as JSON. */
  readonly attempts: string;
  /** Null unless the delivery is pending. */
  readonly nextAttemptAt: number | null;
  /** Null while the delivery is pending. */
  readonly finishedAt: number | null;
}

/**
 * The effect of an attempt whose outcome may disable its webhook. `moved`: the URL has changed since, so the outcome says
 * nothing about the webhook. `kept`: the webhook stays enabled, because a delivery has succeeded since, or the webhook was
 * enabled again.
 */
export type DisableOutcome = 'disabled' | 'kept' | 'moved';

/** Number of deliveries that a process leases, in flight or queued. */
export const maxLeasedTotal = 3 * maxInFlight.perProcess;

/** Number of deliveries that a process leases for a fast webhook. More than can be in flight are leased in advance. */
export const maxLeasedPerFast = 32;

export const pools = ['fast', 'slow', 'new', 'stalled'] as const;

/**
 * Webhooks by their last attempt. `stalled`: the receiver did not respond. `new`: this process has not sent to it.
 */
export type Pool = (typeof pools)[number];

/**
 * Number of places that pools may use, so that each finds some, whatever the others use. The reserved ones are for fast
 * receivers of trusted accounts without any other place.
 */
const places = {
  fast: 80,
  new: 30,
  stalled: 30,
  slowAndStalled: 75,
  allButFast: 80,
  /** Fast webhooks leave as many as the others use, up to this number. */
  leftByFast: 20,
  reserved: 10,
} as const;

/** Requests in flight, and the places that are left. */
export type Occupancy = Pick<LeaseRequest, 'free' | 'inFlight'>;

/** The free places that a pool may use, apart from the reserved ones. */
export function poolRoom(pool: Pool, { free, inFlight }: Occupancy): number {
  const slowAndStalled = inFlight.slow + inFlight.stalled;
  const allButFast = slowAndStalled + inFlight.new;
  const left = places.allButFast - allButFast;
  const slow = Math.min(left, places.slowAndStalled - slowAndStalled);
  const rooms: Readonly<Record<Pool, number>> = {
    fast: places.fast - inFlight.fast - Math.min(allButFast, places.leftByFast),
    slow,
    new: Math.min(left, places.new - inFlight.new),
    stalled: Math.min(slow, places.stalled - inFlight.stalled),
  };
  return Math.max(0, Math.min(free - places.reserved, rooms[pool]));
}

/** Whether only fast webhooks may get deliveries. */
export function isOnlyForFast(occupancy: Occupancy): boolean {
  return pools.every((pool) => pool === 'fast' || poolRoom(pool, occupancy) === 0);
}

export interface AccountLeases {
  /** Number of deliveries that are leased in the pool. */
  readonly used: number;
  /** Number of deliveries that are leased in the pools other than the fast one. */
  readonly usedOutsideFast: number;
  readonly isDistrusted: boolean;
}

/** Room that distrusted accounts leave to the others. Two requests suffice for most receivers that are not fast. */
const leftByDistrusted = { fast: 30, outsideFast: 12, secondOutsideFast: 4 } as const;

/**
 * Whether an account may get another delivery of a pool with this much room. The more it has, the more room must be left,
 * so that an account without any finds a place while others take all they can (dynamic thresholds, A. Choudhury and
 * E. Hahne, 1998).
 */
export function mayLease(
  pool: Pool,
  room: number,
  { used, usedOutsideFast, isDistrusted }: AccountLeases,
): boolean {
  if (isDistrusted) {
    const { fast, outsideFast, secondOutsideFast } = leftByDistrusted;
    if (pool === 'fast') return used === 0 ? room > 0 : used + fast < room;
    if (usedOutsideFast === 0) return room > 0;
    return usedOutsideFast + (usedOutsideFast === 1 ? secondOutsideFast : outsideFast) < room;
  }
  if (pool === 'fast') return used < Math.max(Math.min(maxLeasedPerFast, Math.ceil(room / 2)), 1);
  if (usedOutsideFast === 0) return room > 0;
  if (pool === 'slow') return (used === 0 ? 0 : usedOutsideFast) < room;
  // New and stalled webhooks may hold their places until the time-out.
  return (used === 0 ? 2 : 2 * usedOutsideFast) < room;
}

/** Maximum number of deliveries that a process leases for a webhook. */
export function maxWebhookLeases(pool: Pool): number {
  if (pool === 'fast') return maxLeasedPerFast;
  return pool === 'stalled' ? 1 : maxInFlight.perWebhook;
}

/** Maximum burst after a pause: an account may send the deliveries of one second at once. */
export const burstMicroseconds = 1_000_000;

/**
 * The pace of an account as a virtual schedule: each delivery takes up an interval after `pacedUntil` (Unix
 * microseconds).
 */
export function deliverySchedule(
  pacedUntil: number,
  { now, perSecond }: Pick<LeaseRequest, 'now' | 'perSecond'>,
) {
  const at = now * 1_000;
  const interval = deliveryIntervalMicroseconds(perSecond);
  // A time far in the future was stored before the clock was set back. Other processes may be slightly ahead.
  const isFormer = pacedUntil > at + burstMicroseconds;
  const from = isFormer ? at - interval : Math.max(pacedUntil, at - burstMicroseconds);
  return { from, interval, allowed: Math.max(0, Math.floor((at - from) / interval)) };
}

/** An account whose `pacedUntil` is at most this may have a delivery now. */
export function maxPacedUntil({ now, perSecond }: Pick<LeaseRequest, 'now' | 'perSecond'>): number {
  return now * 1_000 - deliveryIntervalMicroseconds(perSecond);
}

function deliveryIntervalMicroseconds(perSecond: number): number {
  return Math.floor(1_000_000 / perSecond);
}
