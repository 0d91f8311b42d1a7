import { webhookJson } from '../../contract/webhooks.ts';
import type { Transaction } from '../../storage/transaction.ts';
import type { NewEvent } from '../../tables/events.ts';
import { type AuditedUnits, subjectsOf } from '../changes/audited.ts';

/** The event `webhook.disabled`, at an instant (Unix ms). */
export function disabledEvent({ id, accountId }: Owned, reason: string, now: number): NewEvent {
  const data = `{"id":${id},"reason":${JSON.stringify(reason)}}`;
  return { type: 'webhook.disabled', data, accountId, createdAt: now };
}

interface Owned {
  readonly id: bigint;
  readonly accountId: number;
}

interface Disabling {
  readonly id: bigint;
  readonly reason: string;
  /** Unix ms. */
  readonly now: number;
}

interface Enabling {
  readonly id: bigint;
  readonly lastEvent: bigint;
}

const { byId: subject } = subjectsOf('webhook', ({ webhooks }, id) => webhooks.find(BigInt(id)), webhookJson);

const writes = ['webhooks'] as const;

/** Changes of webhooks by operators. They return whether there is such a webhook: a result that is kept must have no secret. */
export const operatorWebhookUnits = {
  disableWebhookByOperator: {
    writes,
    subject,
    run: async ({ webhooks, events }: Transaction, { id, reason, now }: Disabling): Promise<boolean> => {
      const webhook = await webhooks.find(id);
      if (webhook === undefined) return false;
      await webhooks.update(id, { enabled: false, disabledReason: reason });
      if (webhook.enabled) events.add(disabledEvent(webhook, reason, now));
      return true;
    },
  },
  enableWebhookByOperator: {
    writes,
    subject,
    run: async ({ webhooks }: Transaction, { id, lastEvent }: Enabling): Promise<boolean> => {
      const webhook = await webhooks.find(id);
      if (webhook === undefined) return false;
      // It continues with the events from now on.
      const continued = { enabled: true, disabledReason: undefined, position: lastEvent };
      if (!webhook.enabled) await webhooks.update(id, continued);
      return true;
    },
  },
} as const satisfies AuditedUnits;
