import type {
  DisableOutcome,
  DispatchResult,
  LeasedDelivery,
  LeaseRequest,
  RescheduleRequest,
  SettledDelivery,
} from '../../domain/delivery.ts';
import type { SweepPosition, Transaction, Units } from '../../storage/transaction.ts';
import { webhookDisabledEvent } from './webhooks.ts';

interface DisablingOutcome {
  readonly delivery: Pick<LeasedDelivery, 'id' | 'webhookId' | 'leasedUntil' | 'url'>;
  readonly reason: string;
  /** Unix ms. The webhook stays enabled if a delivery has succeeded, or the webhook was enabled, at or after this time. */
  readonly since: number;
  /** Unix ms. */
  readonly now: number;
}

export const deliveryUnits = {
  /** Records the results of attempts and leases the next deliveries. */
  dispatchDeliveries: {
    writes: [],
    run: async (
      { deliveries }: Transaction,
      { settled, lease }: { readonly settled: readonly SettledDelivery[]; readonly lease: LeaseRequest },
    ): Promise<DispatchResult> => {
      const locking = deliveries.lockCounter(lease);
      const settling = settled.length > 0 ? deliveries.settle(settled) : [];
      const releasing = lease.lost.length > 0 ? deliveries.releaseLost(lease.lost, lease.now) : undefined;
      // Sends all statements to PostgreSQL before waiting for any result.
      const [leases, locked] = await Promise.all([
        deliveries.lease(lease, locking),
        settling,
        releasing,
        locking,
      ]);
      return { ...leases, locked };
    },
  },
  disableWebhook: {
    writes: ['webhooks'],
    run: async (
      { webhooks, deliveries, events }: Transaction,
      { delivery: { id, webhookId, leasedUntil, url }, reason, since, now }: DisablingOutcome,
    ): Promise<DisableOutcome> => {
      const webhook = await webhooks.find(webhookId);
      if (webhook === undefined) return 'disabled';
      if (webhook.url !== url) return 'moved';
      if (!webhook.enabled) return 'disabled';
      // Without the lease, this attempt may be outdated, and the process that holds the lease decides.
      const isLeased = (await deliveries.find(id))?.leasedUntil === leasedUntil;
      if (!isLeased || (webhook.succeededAt ?? 0) >= since) return 'kept';
      await webhooks.update(webhookId, { enabled: false, disabledReason: reason });
      events.add(webhookDisabledEvent(webhook, reason, now));
      return 'disabled';
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
    run: ({ deliveries }: Transaction, after: SweepPosition | null) => deliveries.sweep(after),
  },
  /** Deletes deliveries that finished before the given time (Unix ms). */
  pruneDeliveries: {
    writes: [],
    run: ({ deliveries }: Transaction, before: number) => deliveries.prune(before),
  },
  /**
   * Deletes some finished deliveries, except for the newest `keep` of each webhook and status. Repeat it with its outcome
   * until that is undefined.
   */
  trimDeliveries: {
    writes: [],
    run: (
      { deliveries }: Transaction,
      { keep, after }: { readonly keep: number; readonly after: SweepPosition | null },
    ) => deliveries.trim(keep, after),
  },
} as const satisfies Units;
