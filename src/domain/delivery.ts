/** Deliveries between the store and the process that sends them. Instants are Unix ms. */
import type { DeliveryStatus } from './delivery-status.ts';

/** Requests in flight: to one webhook from all processes, and from one process to all webhooks. */
export const mostInFlight = { perWebhook: 4, perProcess: 100 } as const;

/** Above this number of pending deliveries, a webhook's events wait in the outbox. */
export const mostPending = 1_000;

/** Bounds of one unit of work: webhooks that are looked at, and events that each of them examines. */
export const atOnce = { webhooks: 50, events: 100 } as const;

export interface TakeRequest {
  readonly now: number;
  /** No other process takes the deliveries until then. */
  readonly leasedUntil: number;
  /** How many deliveries are taken at most. */
  readonly room: number;
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

/** How many of a webhook's deliveries may be in flight: one while half of the process is occupied, so that some are left for others. */
export function inFlightWith(room: number): number {
  return room > mostInFlight.perProcess / 2 ? mostInFlight.perWebhook : 1;
}
