import type { EventType } from '../../domain/event-type.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

interface QueuedEvents {
  readonly webhookId: bigint;
  /** The position of the webhook when the events were read. */
  readonly after: bigint;
  /** Those of its types, up to the new position. */
  readonly events: readonly { readonly id: bigint; readonly type: EventType }[];
  readonly position: bigint;
  /** Unix ms. */
  readonly now: number;
}

export const deliveryUnits = {
  /** Turns events into deliveries that are due; false if another process did, or the webhook is disabled or gone. */
  queueDeliveries: {
    writes: ['webhooks'],
    run: async (
      { webhooks, deliveries }: Transaction,
      { webhookId, after, events, position, now }: QueuedEvents,
    ): Promise<boolean> => {
      const webhook = await webhooks.find(webhookId);
      if (!webhook?.enabled || webhook.position !== after) return false;
      const due = { status: 'pending', attempts: '[]', nextAttemptAt: now, createdAt: now } as const;
      for (const { id, type } of events) await deliveries.add({ webhookId, eventId: id, type, ...due });
      await webhooks.update(webhookId, { position });
      return true;
    },
  },
} as const satisfies Units;
