import * as z from 'zod';
import {
  AccountWebhookTest,
  accountWebhookTestJson,
  Deliveries,
  Delivery,
  DeliveryId,
  ListDeliveriesQuery,
  Redelivery,
} from '../deliveries.ts';
import { accepted, defineOperations, ok, okPage } from '../operation.ts';
import { deliveryJson, type Webhook, webhookJson } from '../representations.ts';
import {
  bodySchema,
  cursorParameter,
  emptyBody,
  enumSchema,
  int64Filter,
  limitParameter,
  objectSchema,
  pageSchema,
  text,
} from '../values.ts';
import { WebhookId, webhookMembers } from '../webhooks.ts';
import { id } from './values.ts';

export const AccountWebhook = objectSchema(
  'AccountWebhook',
  'A webhook with its account. Secrets are not shown.',
  {
    ...webhookMembers,
    id: id('ID of the webhook.'),
    accountId: id('ID of the account.'),
    accountName: z.string().describe('Name of the account.'),
    onHoldReason: z
      .string()
      .meta({
        description:
          'Reason why all events, or those of some types, wait even though the webhook is enabled.',
        examples: [
          'Events of type order.* wait until the account has an active key that may read them. Required scopes: events:read orders:read.',
        ],
      })
      .optional(),
  },
);

export interface AccountWebhook extends Webhook {
  readonly accountId: number;
  readonly accountName: string;
  readonly onHoldReason?: string | undefined;
}

const AccountWebhooks = pageSchema(AccountWebhook, 'AccountWebhooks', 'A page of webhooks.');

function accountWebhookJson(webhook: AccountWebhook): string {
  const { accountId, accountName, onHoldReason } = webhook;
  const also = JSON.stringify({ accountId, accountName, onHoldReason });
  return `${webhookJson(webhook).slice(0, -1)},${also.slice(1)}`;
}

const webhookStates = ['enabled', 'disabled'] as const;

const ListWebhooksQuery = z.strictObject({
  limit: limitParameter('webhooks'),
  accountId: int64Filter("Return only this account's webhooks."),
  state: enumSchema(webhookStates).optional().describe('Return only enabled or only disabled webhooks.'),
  cursor: cursorParameter,
});

const DisableBody = bodySchema('Disabling', 'The reason for disabling a webhook.', 'a reason', {
  reason: text('Reason for disabling the webhook. The account can read it.', 'The receiver is overloaded.'),
});

const params = { webhookId: { schema: WebhookId, otherwise: 'webhook_not_found' } } as const;

const one = (description: string) => ok(AccountWebhook, accountWebhookJson, description);

export const accountWebhookOperations = defineOperations(
  { tag: { name: 'Webhooks', description: 'URLs at which accounts receive events.' } },
  {
    listAccountWebhooks: {
      route: 'GET /webhooks',
      summary: 'List webhooks',
      description: 'Returns a page of webhooks from all accounts, in ascending order of id.',
      query: ListWebhooksQuery,
      paginated: true,
      success: okPage(AccountWebhooks, accountWebhookJson, 'A page of webhooks.'),
    },
    getAccountWebhook: {
      route: 'GET /webhooks/{webhookId}',
      summary: 'Get a webhook',
      description: 'Returns a webhook.',
      params,
      success: one('The requested webhook.'),
    },
    listAccountDeliveries: {
      route: 'GET /webhooks/{webhookId}/deliveries',
      summary: "List a webhook's deliveries",
      description:
        'Returns a page of deliveries with their attempts, newest first. Deliveries are kept for 7 days after they end, ' +
        'but for each webhook, only the 10,000 newest that succeeded and the 10,000 newest that failed. Only the account can ' +
        "read receivers' responses.",
      params,
      query: ListDeliveriesQuery,
      paginated: true,
      success: okPage(Deliveries, deliveryJson, 'A page of deliveries.'),
    },
    disableWebhook: {
      route: 'POST /webhooks/{webhookId}/disable',
      summary: 'Disable a webhook',
      description:
        'Stops sending events to a webhook. The account can read the reason, receives the event `webhook.disabled`, and can enable the ' +
        'webhook again.',
      params,
      body: { schema: DisableBody },
      success: one('The webhook after the change.'),
    },
    enableWebhook: {
      route: 'POST /webhooks/{webhookId}/enable',
      summary: 'Enable a webhook',
      description:
        'Resumes sending events to a disabled webhook, and removes the reason. Events that occurred while it was disabled are not sent.',
      params,
      body: emptyBody,
      success: one('The webhook after the change.'),
    },
    testAccountWebhook: {
      route: 'POST /webhooks/{webhookId}/test',
      summary: 'Send a test event',
      description:
        'Sends the event `webhook.test` once and returns the outcome without the response, which only the account can read. ' +
        'Disabled webhooks can also be tested.',
      params,
      body: emptyBody,
      repeatable: false,
      success: ok(AccountWebhookTest, accountWebhookTestJson, 'The outcome of the attempt.'),
    },
    redeliverAccountEvents: {
      route: 'POST /webhooks/{webhookId}/redeliver',
      summary: 'Send events again',
      description:
        "Resends all events of the webhook's types after the given id, including events already delivered. Use this after a receiver " +
        'was down. A disabled webhook must be enabled first.',
      params,
      body: { schema: Redelivery },
      success: accepted(AccountWebhook, accountWebhookJson, 'The events will be sent.'),
      errors: ['webhook_disabled', 'redelivery_in_progress', 'events_expired'],
    },
    redeliverAccountDelivery: {
      route: 'POST /webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
      summary: 'Send a delivery again',
      description:
        "Resends a delivery's event as a new delivery. If the delivery is still pending, it is attempted immediately instead.",
      params: { ...params, deliveryId: { schema: DeliveryId, otherwise: 'delivery_not_found' } },
      body: emptyBody,
      success: accepted(Delivery, deliveryJson, 'The delivery that will be attempted.'),
      errors: ['event_type_not_selected', 'too_many_deliveries'],
    },
  },
);
