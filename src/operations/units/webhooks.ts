import { type Delivery, deliveryJson, webhookJson } from '../../contract/representations.ts';
import type { EventBounds } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import type { NewEvent } from '../../tables/events.ts';
import { type AuditedUnits, defineSubject } from '../changes/audited-unit.ts';
import { expectFoundById } from '../errors.ts';
import { redeliver, redeliverEvents, resumeDeliveries } from '../resources/webhooks.ts';

/** The `webhook.disabled` event. `now` is Unix ms. */
export function webhookDisabledEvent({ id, accountId }: Owned, reason: string, now: number): NewEvent {
  const data = `{"id":${id},"reason":${JSON.stringify(reason)}}`;
  return { type: 'webhook.disabled', data, accountId, createdAt: now };
}

interface Owned {
  readonly id: bigint;
  readonly accountId: number;
}

interface DisableInput {
  readonly id: bigint;
  readonly reason: string;
  /** Unix ms. */
  readonly now: number;
}

interface EnableInput {
  readonly id: bigint;
  readonly lastEvent: bigint;
  /** Unix ms. */
  readonly now: number;
}

/** The stored secrets of a webhook, before and after re-encryption. */
export interface ReencryptedSecrets {
  readonly id: bigint;
  readonly before: SealedSecrets;
  readonly after: SealedSecrets;
}

interface SealedSecrets {
  readonly secret: string;
  readonly formerSecret: string | undefined;
}

interface RedeliverEventsInput {
  readonly params: { readonly webhookId: bigint };
  readonly body: { readonly after: bigint };
  readonly events: EventBounds;
  /** Unix ms. */
  readonly now: number;
}

interface RedeliverInput {
  readonly params: { readonly webhookId: bigint; readonly deliveryId: bigint };
  /** Unix ms. */
  readonly now: number;
}

const find = ({ webhooks }: Transaction, id: number | bigint) => webhooks.find(BigInt(id));

const { byId: subject, byParam } = defineSubject('webhook', find, webhookJson);

const position = defineSubject('webhook', find, ({ id, position }) => `{"id":${id},"position":${position}}`);

const writes = ['webhooks'] as const;

/** Throws `webhook_not_found`. */
const existing = async (transaction: Transaction, id: bigint) =>
  expectFoundById(await find(transaction, id), 'webhook_not_found', id);

/**
 * Operators' changes to webhooks. Some return a boolean instead of the webhook, because the outcome is stored and must
 * not contain a secret.
 */
export const operatorWebhookUnits = {
  disableWebhookByOperator: {
    writes,
    subject,
    run: async ({ webhooks, events }: Transaction, { id, reason, now }: DisableInput): Promise<boolean> => {
      const webhook = await webhooks.find(id);
      if (webhook === undefined) return false;
      await webhooks.update(id, { enabled: false, disabledReason: reason });
      if (webhook.enabled) events.add(webhookDisabledEvent(webhook, reason, now));
      return true;
    },
  },
  enableWebhookByOperator: {
    writes,
    subject,
    run: async ({ webhooks }: Transaction, { id, lastEvent, now }: EnableInput): Promise<boolean> => {
      const webhook = await webhooks.find(id);
      if (webhook === undefined) return false;
      // The webhook receives only events that occur after it is enabled.
      const continued = { enabled: true, disabledReason: undefined, ...resumeDeliveries(lastEvent, now) };
      if (!webhook.enabled) await webhooks.update(id, continued);
      return true;
    },
  },
  redeliverAccountEvents: {
    writes,
    subject: position.byParam('webhookId'),
    run: async (
      transaction: Transaction,
      { params, body, events, now }: RedeliverEventsInput,
    ): Promise<true> => {
      const webhook = await existing(transaction, params.webhookId);
      await redeliverEvents(transaction, webhook, { ...body, events, now });
      return true;
    },
  },
  redeliverAccountDelivery: {
    writes,
    subject: { ...byParam('webhookId'), made: (delivery) => deliveryJson(delivery as Delivery) },
    run: async (transaction: Transaction, { params, now }: RedeliverInput) => {
      const webhook = await existing(transaction, params.webhookId);
      return redeliver(transaction, webhook, { deliveryId: params.deliveryId, now });
    },
  },
} as const satisfies AuditedUnits;

export const reencryptionUnits = {
  /**
   * Stores re-encrypted secrets, except those that were rotated in the meantime. Returns the number of webhooks
   * updated.
   */
  resealWebhooks: {
    writes,
    run: async ({ webhooks }: Transaction, renewals: readonly ReencryptedSecrets[]): Promise<number> => {
      let resealed = 0;
      for (const { id, before, after } of renewals) {
        const stored = await webhooks.find(id);
        if (stored?.secret !== before.secret || stored.formerSecret !== before.formerSecret) continue;
        await webhooks.update(id, after);
        resealed++;
      }
      return resealed;
    },
  },
} as const satisfies Units;
