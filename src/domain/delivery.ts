/** Delivery types that the store and the sending process share. Times are Unix ms. */
import type { DeliveryStatus } from './delivery-status.ts';
import type { EventType } from './event-type.ts';
import type { Scope } from './scope.ts';

/** Maximum requests in flight: to one webhook from all processes, and to all webhooks from one process. */
export const maxInFlight = { perWebhook: 4, perProcess: 100 } as const;

/** A webhook with more pending deliveries than this gets no new ones; its events wait in the outbox. */
export const maxPending = 1_000;

/**
 * Limits per unit of work: the number of webhooks, the number of events examined for each webhook, and the number
 * examined for all webhooks.
 */
export const atOnce = { webhooks: 50, events: 100, eventsOfAll: 500 } as const;

/** Number of events to examine for each of the webhooks that are behind. */
export function portionLength(behind: number): number {
  return Math.min(atOnce.events, Math.floor(atOnce.eventsOfAll / Math.max(behind, 1)));
}

/**
 * Outcomes of attempts. `repeated` is a failure that will be retried; `expired` is an event that expired before it was
 * sent.
 */
export const attemptOutcomes = ['succeeded', 'repeated', 'failed', 'expired'] as const;

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

export interface TakeRequest {
  readonly now: number;
  /** End of the lease. */
  readonly leasedUntil: number;
  /** Maximum number of deliveries to lease. */
  readonly room: number;
  /**
   * Number of deliveries to lease, by webhook id, for webhooks that already have deliveries leased by this process. No
   * other process leases deliveries of these webhooks.
   */
  readonly held: Readonly<Record<string, number>>;
  /** Other webhooks whose receivers have recently responded quickly. */
  readonly fast: readonly bigint[];
  /** The last webhook of the previous round; 0 if there was none. */
  readonly after: bigint;
  /** Webhooks with leased deliveries that this process has not started to send. */
  readonly waiting: readonly bigint[];
  /** Maximum number of deliveries per second and account. */
  readonly perSecond: number;
  /** Number of this round. The account's webhooks take turns, so that one backlog does not use up the pace. */
  readonly round: number;
}

/** An event to send. */
export interface TakenDelivery {
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
  /** Encrypted secret. */
  readonly secret: string;
  readonly formerSecret: string | null;
  readonly formerSecretUntil: number | null;
}

export interface Taken {
  readonly deliveries: readonly TakenDelivery[];
  /** Pass this as `after` in the next request. */
  readonly after: bigint;
  /** Whether the next request may find more deliveries immediately. */
  readonly isMore: boolean;
  /** Number of events that expired before deliveries were created for them. */
  readonly expired: number;
  /** Whether an account has used up its pace, so that some of its deliveries may be due. */
  readonly isPaced: boolean;
  /**
   * The scopes of the events that may be sent to the webhooks in `waiting`, by webhook id. Omits disabled and deleted
   * webhooks.
   */
  readonly sendable: Readonly<Record<string, readonly Scope[]>>;
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

/** Number of deliveries that a process leases in advance for a webhook with a fast receiver. */
const maxTaken = 64;

/** Maximum number of deliveries that the process leases for a webhook. */
export function takenBy({ held, fast, room }: TakeRequest, webhookId: bigint): number {
  return held[String(webhookId)] ?? takenOfWebhook(room, fast.includes(webhookId));
}

/**
 * Number of deliveries that a process leases per webhook. Reduced once half of the process's capacity is used, so that
 * slow receivers cannot use all of it.
 */
export function takenOfWebhook(room: number, isFast: boolean): number {
  const isRoomy = room > maxInFlight.perProcess / 2;
  if (isFast) return isRoomy ? maxTaken : maxInFlight.perWebhook;
  return isRoomy ? maxInFlight.perWebhook : 1;
}

/** An account may have this many deliveries at once after a pause: those of a second. */
const burstMicroseconds = 1_000_000;

/**
 * The pace of an account as a virtual schedule: each delivery takes up an interval after `pacedUntil` (Unix
 * microseconds).
 */
export function paceOf(pacedUntil: number, { now, perSecond }: Pick<TakeRequest, 'now' | 'perSecond'>) {
  const at = now * 1_000;
  const interval = intervalOf(perSecond);
  // A time in the future was stored before the clock was set back.
  const from = pacedUntil > at ? at - interval : Math.max(pacedUntil, at - burstMicroseconds);
  return { from, interval, allowed: Math.floor((at - from) / interval) };
}

/** An account whose `pacedUntil` is at most this may have a delivery now. */
export function latestPaced({ now, perSecond }: Pick<TakeRequest, 'now' | 'perSecond'>): number {
  return now * 1_000 - intervalOf(perSecond);
}

function intervalOf(perSecond: number): number {
  return Math.floor(1_000_000 / perSecond);
}
