/** Delivery types that the store and the sending process share. Times are Unix ms. */
import type { DeliveryStatus } from './delivery-status.ts';
import type { EventType } from './event-type.ts';
import type { Scope } from './scope.ts';

/**
 * Maximum requests in flight: to one webhook from all processes, to one whose receiver did not respond, and to all webhooks
 * from one process, which may be limited to fewer places. A request that waits for its response takes 60 kB.
 */
export const maxInFlight = { perWebhook: 4, perStalled: 1, perProcess: 1_000 } as const;
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
 * Limits per unit of work: the number of webhooks, the number of deliveries that are leased, and of those whose outcomes are
 * stored, the number of events examined for each webhook, and the number examined for all webhooks.
 */
export const leaseLimits = { webhooks: 50, deliveries: 100, events: 100, eventsOfAll: 500 } as const;

/** Number of events to examine for each of the webhooks that are behind. */
export function eventBatchSize(behind: number): number {
  return Math.min(leaseLimits.events, Math.floor(leaseLimits.eventsOfAll / Math.max(behind, 1)));
}

/**
 * Outcomes of attempts. `repeated` is a failure that will be retried; `expired` is an event that expired before it was
 * sent.
 */
export type AttemptOutcome = 'succeeded' | 'repeated' | 'failed' | 'expired';

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

/** The requests in flight to a webhook. */
interface WebhookRequests {
  readonly webhookId: bigint;
  readonly accountId: number;
  readonly count: number;
}

export interface LeaseRequest {
  readonly now: number;
  /** End of the lease. */
  readonly leasedUntil: number;
  /** Ends of leases that this process may have obtained without a reply, earliest first. They are ended. */
  readonly lost: readonly number[];
  /** Maximum number of deliveries to lease. */
  readonly room: number;
  /** Number of requests that may still be in flight. */
  readonly free: number;
  /**
   * The requests of this process that are in flight. No other process leases deliveries of these webhooks. Omits webhooks
   * without requests.
   */
  readonly inFlight: readonly WebhookRequests[];
  /** Webhooks whose receivers did not respond to the last request. */
  readonly stalled: readonly bigint[];
  /** Webhooks that get no deliveries now. */
  readonly suspended: readonly bigint[];
  /**
   * Webhooks whose queues of deliveries were full recently. Only their due deliveries are considered, because counting
   * a webhook's pending deliveries is slow.
   */
  readonly full: readonly bigint[];
  /** Only webhooks with a greater id are examined. The result of the previous round; 0 in the first. */
  readonly after: bigint;
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
}

export interface DispatchResult extends LeaseResult {
  /** The ids of deliveries whose outcomes must be stored later, because another transaction has locked them. */
  readonly locked: readonly bigint[];
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

/** The part of the free places that an account may use. */
const accountPart = 1 / 24;
/**
 * While more places than this are free, webhooks without requests do not depend on their account's share. Not a part of all
 * places: with few file descriptors, accounts would use these up, and leave shares that are too small.
 */
const sparePlaces = 250;

/**
 * Number of places that an account may still take. The more the accounts use, the fewer places each may have, so that an
 * account without any finds one while others take all they can (dynamic thresholds, A. Choudhury and E. Hahne, 1998).
 */
export function accountRoom(free: number, used: number): number {
  return free > 0 ? Math.max(1, Math.floor(free * accountPart)) - used : 0;
}

/**
 * Whether webhooks without requests may get a place beyond the share of their account, so that those with hung receivers do not
 * delay the others of the account after its share has become smaller.
 */
export const hasSparePlaces = (free: number): boolean => free > sparePlaces;

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
