import type { RescheduleRequest, SettledDelivery, Taken, TakeRequest } from '../../domain/delivery.ts';
import type { SweptTo, Transaction, Units } from '../../storage/transaction.ts';
import { disabledEvent } from './webhooks.ts';

interface Disabling {
  readonly webhookId: bigint;
  readonly reason: string;
  /**
   * Unix ms. A successful delivery at or after this time keeps the webhook enabled; undefined to disable it regardless.
   */
  readonly since: number | undefined;
  /** Unix ms. */
  readonly now: number;
}

export const deliveryUnits = {
  /** Records the results of attempts and leases the next deliveries. */
  dispatchDeliveries: {
    writes: [],
    run: async (
      { deliveries }: Transaction,
      { settled, take }: { readonly settled: readonly SettledDelivery[]; readonly take: TakeRequest },
    ): Promise<Taken> => {
      const settling = settled.length > 0 ? deliveries.settle(settled) : undefined;
      // Sends both statements to PostgreSQL before waiting for either result.
      const [taken] = await Promise.all([deliveries.take(take), settling]);
      return taken;
    },
  },
  disableWebhook: {
    writes: ['webhooks'],
    run: async (
      { webhooks, events }: Transaction,
      { webhookId, reason, since, now }: Disabling,
    ): Promise<boolean> => {
      const webhook = await webhooks.find(webhookId);
      if (!webhook?.enabled) return false;
      if (since !== undefined && (webhook.succeededAt ?? 0) >= since) return false;
      await webhooks.update(webhookId, { enabled: false, disabledReason: reason });
      events.add(disabledEvent(webhook, reason, now));
      return true;
    },
  },
  /** Must be repeated until it returns false, before the first deliveries are leased. */
  addPaces: {
    writes: [],
    run: ({ deliveries }: Transaction, _: null) => deliveries.addPaces(),
  },
  /** Ends some leases, and returns whether more may remain. Used when no other process is sending. */
  releaseDeliveries: {
    writes: [],
    run: ({ deliveries }: Transaction, now: number) => deliveries.release(now),
  },
  /** Examines some deliveries after the clock was set back. Repeat it with its outcome until that is undefined. */
  rescheduleDeliveries: {
    writes: [],
    run: ({ deliveries }: Transaction, request: RescheduleRequest) => deliveries.reschedule(request),
  },
  /** Removes some rows of deleted webhooks. Repeat it with its outcome until that is undefined. */
  sweepWebhooks: {
    writes: [],
    run: ({ deliveries }: Transaction, after: SweptTo | null) => deliveries.sweep(after),
  },
  /** Deletes deliveries that finished before the given time (Unix ms). */
  pruneDeliveries: {
    writes: [],
    run: ({ deliveries }: Transaction, before: number) => deliveries.prune(before),
  },
} as const satisfies Units;
