import * as z from 'zod';
import { deliveryStatuses } from '../domain/delivery-status.ts';
import { eventTypes } from '../domain/event-type.ts';
import {
  assignedId,
  bodySchema,
  count,
  cursorParameter,
  enumSchema,
  instant,
  int64,
  limitParameter,
  objectSchema,
  omittedExample,
  pageSchema,
} from './values.ts';

const EventTypeName = enumSchema(eventTypes).meta({ id: 'EventType', description: 'Type of the event.' });

const DeliveryStatusName = enumSchema(deliveryStatuses).meta({
  id: 'DeliveryStatus',
  description: '`pending` until the receiver accepts the event, or the last attempt fails.',
});

const outcomeMembers = {
  status: count.describe('Status of the response, if there was one.').optional(),
  milliseconds: count.describe('Duration of the attempt in milliseconds.'),
  error: z.string().describe('Reason for the failure.').optional(),
};

export const Delivery = objectSchema('Delivery', 'The delivery of an event to a webhook.', {
  id: assignedId('Unique ID'),
  eventId: int64('ID of the event.', 1),
  type: EventTypeName,
  status: DeliveryStatusName,
  attempts: z
    .array(
      z.object({
        at: instant('Time when the request was sent (UTC).'),
        ...outcomeMembers,
      }),
    )
    .describe('The attempts so far, oldest first.'),
  nextAttemptAt: instant('Time of the next attempt (UTC); omitted if there is none.').optional(),
});

export const Deliveries = pageSchema(Delivery, 'Deliveries', 'A page of deliveries.');

export const ListDeliveriesQuery = z.strictObject({
  limit: limitParameter('deliveries'),
  status: DeliveryStatusName.optional().meta({
    description: 'Return only deliveries with this status.',
    param: { examples: omittedExample('failed') },
  }),
  cursor: cursorParameter,
});

export const DeliveryId = int64('ID of the delivery.', 1);

export const Redelivery = bodySchema('Redelivery', 'The events to send again.', 'events to send again', {
  after: int64('All events after this id are sent again.', 0),
});

const { error, ...withResponse } = outcomeMembers;

export const WebhookTest = objectSchema('WebhookTest', 'The outcome of a request to a receiver.', {
  ...withResponse,
  body: z
    .string()
    .meta({ description: 'The first 1,024 bytes of the response.', examples: ['ok'] })
    .optional(),
  error,
});

export const AccountWebhookTest = objectSchema(
  'AccountWebhookTest',
  'The outcome of a request to a receiver. Only the account sees the body of the response.',
  outcomeMembers,
);

export interface WebhookTest {
  readonly status?: number | undefined;
  readonly milliseconds: number;
  readonly body?: string | undefined;
  readonly error?: string | undefined;
  /** True if no request was sent, because the address is internal or the URL is not https. Omitted from responses. */
  readonly isBlocked?: boolean;
}

export function webhookTestJson({ status, milliseconds, body, error }: WebhookTest): string {
  return JSON.stringify({ status, milliseconds, body, error });
}

/** Omits the body of the receiver's response, which only the account may see. */
export function accountWebhookTestJson({ status, milliseconds, error }: WebhookTest): string {
  return JSON.stringify({ status, milliseconds, error });
}
