import { type DeliveryStatus, deliveryStatuses } from '../domain/delivery-status.ts';
import { type EventSelector, type EventType, eventTypes } from '../domain/event-type.ts';
import { boolean, int64, integer, oneOf, optional, table, text, textColumn } from './table.ts';

/**
 * Owner of a deleted webhook, an id that no account has. Removing the row would remove its deliveries in the same
 * transaction, and there may be a million of them.
 */
export const deletedWebhookOwner = 0;

export const webhooks = table(
  'webhooks',
  {
    id: int64,
    accountId: integer,
    url: text,
    types: textColumn<readonly EventSelector[]>(
      (stored) => stored.split(' ') as EventSelector[],
      (types) => types.join(' '),
    ),
    description: optional(text),
    enabled: boolean,
    disabledReason: optional(text),
    // Secrets are stored encrypted and never returned.
    secret: text,
    formerSecret: optional(text),
    formerSecretUntil: optional(integer),
    /** Id of the last event for which deliveries were created. */
    position: int64,
    /** Id of the last event that a redelivery sends again. The redelivery continues while `position` is lower. */
    redeliveringTo: optional(int64),
    /**
     * Time of the last successful delivery, to the minute, or the time when the URL was last changed or the webhook was
     * enabled again. Failures before this time do not disable the webhook.
     */
    succeededAt: optional(integer),
    createdAt: integer,
  },
  {
    isCounted: true,
    indexes: [['accountId'], ['enabled'], ['accountId', 'enabled']],
    filters: ['accountId', 'enabled'],
    deleted: { name: 'accountId', is: deletedWebhookOwner },
    resource: 'webhooks',
    notGrouped: 'sending events changes rows that a group has read',
  },
);

/** Events to be sent. Deliveries change with every attempt, so they have no version. */
export const deliveries = table(
  'deliveries',
  {
    id: int64,
    webhookId: int64,
    eventId: int64,
    type: oneOf<EventType>(eventTypes),
    status: oneOf<DeliveryStatus>(deliveryStatuses),
    /** The attempts as JSON, in their public form. */
    attempts: text,
    nextAttemptAt: optional(integer),
    leasedUntil: optional(integer),
    createdAt: integer,
    finishedAt: optional(integer),
  },
  {
    isCounted: true,
    isNewestFirst: true,
    indexes: [['status'], ['webhookId', 'status']],
    filters: ['webhookId', 'status'],
    references: { webhookId: 'webhooks' },
  },
);
