/** Rules for webhooks and deliveries, shared by both engines. */
import { atOnce, portionLength, type Taken, type TakenDelivery } from '../domain/delivery.ts';
import { type EventSelector, selectedTypes } from '../domain/event-type.ts';

/**
 * Precision of the recorded time of a webhook's last success. Recording every success would double the number of writes
 * per delivery.
 */
export const successEveryMs = 60_000;
/** Number of deliveries that a redelivery replaces. A webhook rarely has more pending deliveries. */
export const withdrawalBatch = 900;
/** Number of deliveries that are removed or released per transaction. Each of them changes six indexes. */
export const deliveryBatch = 250;

/** A webhook with due deliveries, or with events that have not been queued as deliveries yet. */
export interface ReadyWebhook {
  readonly id: bigint;
  readonly accountId: bigint;
  readonly url: string;
  readonly types: string;
  readonly secret: string;
  readonly formerSecret: string | null;
  readonly formerSecretUntil: bigint | null;
  readonly position: bigint;
  readonly isBehind: bigint | boolean;
}

export interface LeasedRow {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly eventId: bigint;
  readonly attempts: string;
  readonly createdAt: bigint;
}

/** Selects events that may become deliveries: events of these types after the id `after`. */
interface Portion {
  readonly after: bigint;
  readonly types: readonly string[];
}

/** `oldest` is the id of the oldest retained event. */
export function portionOf(
  { position, types }: Pick<ReadyWebhook, 'position' | 'types'>,
  { oldest }: { readonly oldest: bigint },
): Portion {
  const after = position < oldest - 1n ? oldest - 1n : position;
  return { after, types: [...selectedTypes(types.split(' ') as EventSelector[])] };
}

export function takenOf(row: LeasedRow, webhook: ReadyWebhook, leasedUntil: number): TakenDelivery {
  const { url, secret, formerSecret, formerSecretUntil } = webhook;
  const accountId = Number(webhook.accountId);
  const until = formerSecretUntil === null ? null : Number(formerSecretUntil);
  const message = { ...row, createdAt: Number(row.createdAt), leasedUntil };
  return { ...message, accountId, url, secret, formerSecret, formerSecretUntil: until };
}

/**
 * If this round found its maximum number of webhooks, the next round starts after the last of them. Otherwise, the next
 * round starts at the first webhook.
 */
export function nextRound(
  found: readonly Pick<ReadyWebhook, 'id' | 'isBehind' | 'position'>[],
  after: bigint,
  last: bigint,
): Pick<Taken, 'after' | 'isMore'> {
  const isFull = found.length === atOnce.webhooks;
  const behind = found.filter(({ isBehind }) => isBehind);
  const portion = BigInt(portionLength(behind.length));
  const isQueued = behind.some(({ position }) => position + portion < last);
  return {
    after: isFull ? (found.at(-1)?.id ?? 0n) : 0n,
    isMore: isFull || after > 0n || isQueued,
  };
}
