import type { accountWebhookOperations } from '../../contract/admin/webhooks.ts';
import { type Delivery, deliveryJson, webhookJson } from '../../contract/representations.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import type { NewEvent } from '../../tables/events.ts';
import { type AuditedUnits, defineSubject } from '../changes/audited-unit.ts';
import { expectFoundById } from '../errors.ts';
import type { ResolvedNeeds, WriteInput } from '../resources/rows.ts';
import { redeliver, redeliverEvents, resumeDeliveries, type StoredWebhook } from '../resources/webhooks.ts';

/** The `webhook.disabled` event. `now` is Unix ms. */
export function webhookDisabledEvent(
  { id, accountId }: Pick<StoredWebhook, 'id' | 'accountId'>,
  reason: string,
  now: number,
): NewEvent {
  const data = `{"id":${id},"reason":${JSON.stringify(reason)}}`;
  return { type: 'webhook.disabled', data, accountId, createdAt: now };
}

interface StateChange {
  readonly id: bigint;
  /** Unix ms. */
  readonly now: number;
}

type DisableInput = StateChange & { readonly reason: string };
type EnableInput = StateChange & { readonly lastEvent: bigint };

/** The stored secrets of a webhook, before and after re-encryption. */
export interface ReencryptedSecrets {
  readonly id: bigint;
  readonly before: SealedSecrets;
  readonly after: SealedSecrets;
}

type SealedSecrets = Pick<StoredWebhook, 'secret' | 'formerSecret'>;

type RedeliverEventsInput = WriteInput<typeof accountWebhookOperations.redeliverAccountEvents> &
  Pick<ResolvedNeeds, 'events'>;

type RedeliverInput = WriteInput<typeof accountWebhookOperations.redeliverAccountDelivery>;

const find = ({ webhooks }: Transaction, id: number | bigint) => webhooks.find(BigInt(id));

const { byId: subject, byParam } = defineSubject('webhook', find, webhookJson);

const position = defineSubject('webhook', find, ({ id, position }) => `{"id":${id},"position":${position}}`);

const writes = ['webhooks'] as const;

/** Throws `webhook_not_found`. */
const existing = async (transaction: Transaction, id: bigint) =>
  expectFoundById(await find(transaction, id), 'webhook_not_found', id);

/**
 * Operators' changes to webhooks. Some return true instead of the webhook, because the outcome is stored and must not
 * contain a secret.
 */
export const operatorWebhookUnits = {
  disableWebhookByOperator: {
    writes,
    subject,
    run: async (transaction: Transaction, { id, reason, now }: DisableInput): Promise<true> => {
      const webhook = await existing(transaction, id);
      await transaction.webhooks.update(id, { enabled: false, disabledReason: reason });
      if (webhook.enabled) transaction.events.add(webhookDisabledEvent(webhook, reason, now));
      return true;
    },
  },
  enableWebhookByOperator: {
    writes,
    subject,
    run: async (transaction: Transaction, { id, lastEvent, now }: EnableInput): Promise<true> => {
      const webhook = await existing(transaction, id);
      // The webhook receives only events that occur after it is enabled.
      const continued = { enabled: true, disabledReason: undefined, ...resumeDeliveries(lastEvent, now) };
      if (!webhook.enabled) await transaction.webhooks.update(id, continued);
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
