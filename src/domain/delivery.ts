/** Deliveries between the store and the process that sends them. Instants are Unix ms. */
import type { DeliveryStatus } from './delivery-status.ts';

/** Requests in flight: to one webhook from all processes, and from one process to all webhooks. */
export const mostInFlight = { perWebhook: 4, perProcess: 100 } as const;

/** Above this number of pending deliveries, a webhook's events wait in the outbox. */
export const mostPending = 1_000;

/** Bounds of one unit of work: webhooks that are looked at, and events that each of them examines. */
export const atOnce = { webhooks: 50, events: 100 } as const;

/** Outcomes of attempts. `repeated` failed and is attempted again; an event that expires before it is sent is `expired`. */
export const attemptOutcomes = ['succeeded', 'repeated', 'failed', 'expired'] as const;

export type AttemptOutcome = (typeof attemptOutcomes)[number];

export interface DeliveryBacklog {
  /** Pending deliveries, 10,000 at most. */
  readonly pending: number;
  /** When the oldest of enabled webhooks was made; undefined if there is none. Disabled webhooks keep theirs. */
  readonly oldestAt: number | undefined;
}

/** Bounds of the reads for metrics. */
export const mostCountedPending = 10_000;
export const mostWebhooksLookedAt = 1_000;

export interface TakeRequest {
  readonly now: number;
  /** No other process takes the deliveries until then. */
  readonly leasedUntil: number;
  /** How many deliveries are taken at most. */
  readonly room: number;
  /** How many the process takes of webhooks of which it holds some, by id: no other process takes those. */
  readonly held: Readonly<Record<string, number>>;
  /** Other webhooks whose receivers responded quickly of late. */
  readonly fast: readonly bigint[];
  /** The last webhook of the round before; 0 for none. */
  readonly after: bigint;
}

/** An event to send. */
export interface TakenDelivery {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly accountId: number;
  readonly eventId: bigint;
  /** JSON of the attempts so far. */
  readonly attempts: string;
  readonly createdAt: number;
  readonly leasedUntil: number;
  readonly url: string;
  /** Sealed, like the former one. */
  readonly secret: string;
  readonly formerSecret: string | null;
  readonly formerSecretUntil: number | null;
}

export interface Taken {
  readonly deliveries: readonly TakenDelivery[];
  /** For the next request. */
  readonly after: bigint;
  /** Whether the next request may find more without waiting. */
  readonly isMore: boolean;
  /** Events that expired before they became deliveries. */
  readonly expired: number;
}

/** The outcome of an attempt. It is ignored if the lease was lost. */
export interface SettledDelivery {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly leasedUntil: number;
  readonly status: DeliveryStatus;
  /** JSON. */
  readonly attempts: string;
  /** Null unless pending. */
  readonly nextAttemptAt: number | null;
  /** Null while pending. */
  readonly finishedAt: number | null;
}

/** Deliveries that a process takes ahead of a webhook whose receiver responds quickly. */
const mostTaken = 64;

/** How many deliveries of a webhook a process takes, of one that it does not hold only if no other process does. */
export function takenBy({ held, fast, room }: TakeRequest, webhookId: bigint): number {
  return held[String(webhookId)] ?? takenOfWebhook(room, fast.includes(webhookId));
}

/**
 * How many deliveries of a webhook a process takes. One while half of the process is occupied, so that receivers that hang
 * leave room for others.
 */
export function takenOfWebhook(room: number, isFast: boolean): number {
  const isRoomy = room > mostInFlight.perProcess / 2;
  if (isFast) return isRoomy ? mostTaken : mostInFlight.perWebhook;
  return isRoomy ? mostInFlight.perWebhook : 1;
}
