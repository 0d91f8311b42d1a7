import * as z from 'zod';
import { maxEndpointLength, parseEndpoint } from '../domain/endpoint.ts';
import { eventSelectors } from '../domain/event-type.ts';
import { maxWebhooks } from './bounds.ts';
import {
  Deliveries,
  Delivery,
  DeliveryId,
  ListDeliveriesQuery,
  Redelivery,
  WebhookTest,
  webhookTestJson,
} from './deliveries.ts';
import { EventSelectorName } from './events.ts';
import { defineOperations, mediaTypes, noContent, ok, okPage, success } from './operation.ts';
import { deliveryJson, repeatableResponses, webhookJson } from './representations.ts';
import {
  assignedId,
  bodySchema,
  cursorParameter,
  describeType,
  emptyBody,
  instant,
  int64,
  limitParameter,
  listInput,
  objectSchema,
  pageSchema,
  requiredString,
  text,
} from './values.ts';

const url = requiredString()
  .superRefine((value, context) => {
    const parsed = parseEndpoint(value);
    if (typeof parsed === 'string') context.addIssue({ code: 'custom', message: parsed });
  })
  .meta({
    description:
      'URL that receives the events. It must use `https`, resolve only to public addresses, and have no user name, password or fragment.',
    examples: ['https://shop.example/webhooks'],
    override: { minLength: 1, maxLength: maxEndpointLength },
  });

const maxTypes = eventSelectors.length;

const selectorsForm = `must be an array of 1 to ${maxTypes} types`;

// Uses `refine`, because `min` would also check a string's length, and report a second error.
const types = z
  .array(EventSelectorName, { error: selectorsForm })
  .refine(({ length }) => length >= 1, selectorsForm);

const typesOf = (description: string) =>
  listInput(types, maxTypes, selectorsForm).meta({
    description,
    override: { minItems: 1, maxItems: maxTypes },
  });

const description = text('Purpose of the webhook.', 'Warehouse');

const enabled = z
  .boolean({ error: ({ input }) => `must be true or false, not ${describeType(input)}` })
  .meta({
    description: 'Whether events are sent.',
    examples: [false],
  });

const NewWebhook = bodySchema('NewWebhook', 'A webhook to create.', 'a new webhook', {
  url,
  types: typesOf('Types of the events to send. Defaults to all types that the key may read.').optional(),
  description: description.optional(),
});

/** A merge patch (RFC 7396): null removes the description. */
const WebhookPatch = bodySchema(
  'WebhookPatch',
  'Changes to a webhook. Omitted fields are unchanged. `null` removes the description.',
  'a change to a webhook',
  {
    enabled: enabled.optional(),
    url: url.optional(),
    types: typesOf('Types of the events to send.').optional(),
    description: description.nullable().optional(),
  },
);

export const webhookMembers = {
  id: assignedId('Unique ID'),
  url: z
    .string()
    .meta({ description: 'URL that receives the events.', examples: ['https://shop.example/webhooks'] }),
  types: z.array(EventSelectorName).describe('Types of the events to send.'),
  description: description.optional(),
  enabled: z.boolean().meta({ description: 'Whether events are sent.', examples: [true] }),
  disabledReason: z
    .string()
    .meta({
      description: 'Reason why the webhook is disabled.',
      examples: ['The receiver responded with 410.'],
    })
    .optional(),
  createdAt: instant('Time when the webhook was created (UTC).'),
};

const Webhook = objectSchema('Webhook', "A URL that receives an account's events.", webhookMembers);

const IssuedWebhook = objectSchema('IssuedWebhook', 'A webhook with its new secret.', {
  ...webhookMembers,
  secret: z.string().meta({
    description: 'Secret used to sign the requests (Standard Webhooks). Shown only in this response.',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw6Uf1o0DHRbQ='],
  }),
});

const Webhooks = pageSchema(Webhook, 'Webhooks', 'A page of webhooks.');

const ListWebhooksQuery = z.strictObject({ limit: limitParameter('webhooks'), cursor: cursorParameter });

export const WebhookId = int64('ID of the webhook.', 1);

const params = { webhookId: { schema: WebhookId, otherwise: 'webhook_not_found' } } as const;

/** Appended to the descriptions of operations that can cause a webhook to send requests. */
const authority = ' Requires `events:read` and the read scopes of the types.';

export const webhookOperations = defineOperations(
  {
    tag: { name: 'Webhooks', description: 'URLs that receive events. Each webhook belongs to one account.' },
    scope: 'webhooks:write',
  },
  {
    createWebhook: {
      route: 'POST /webhooks',
      summary: 'Create a webhook',
      description:
        `Sends the account's future events of these types to a URL. An account can have up to ${maxWebhooks} webhooks. The ` +
        '`secret` is shown only in this response.' +
        authority,
      body: { schema: NewWebhook },
      needs: ['caller', 'endpoint', 'events', 'secret'],
      success: success(repeatableResponses.createWebhook, IssuedWebhook, {
        201: 'The webhook was created. The body contains its `secret`.',
      }),
      errors: ['too_many_webhooks'],
    },
    listWebhooks: {
      route: 'GET /webhooks',
      summary: 'List webhooks',
      description:
        "Returns a page of the account's webhooks in ascending order of id. The `Link` header has the URLs of the first and the next page.",
      query: ListWebhooksQuery,
      reads: ['webhooks'],
      needs: ['caller'],
      paginated: true,
      success: okPage(Webhooks, webhookJson, 'A page of webhooks.'),
    },
    getWebhook: {
      route: 'GET /webhooks/{webhookId}',
      summary: 'Get a webhook',
      description: "Returns one of the account's webhooks.",
      params,
      reads: ['webhooks'],
      needs: ['caller'],
      success: ok(Webhook, webhookJson, 'The requested webhook.'),
    },
    updateWebhook: {
      route: 'PATCH /webhooks/{webhookId}',
      summary: 'Change a webhook',
      description:
        'Applies a JSON merge patch (RFC 7396) and returns the webhook. An empty object ' +
        'changes nothing. Enabling a disabled webhook removes the reason. Events that occurred while the webhook was disabled are not sent. ' +
        'Except for disabling, a change requires `events:read` and the read scopes of the types before and after it.',
      params,
      body: { schema: WebhookPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      needs: ['caller', 'endpoint', 'events'],
      sends: true,
      preconditions: ['If-Match'],
      success: ok(Webhook, webhookJson, 'The webhook after the change.'),
    },
    deleteWebhook: {
      route: 'DELETE /webhooks/{webhookId}',
      summary: 'Delete a webhook',
      description: 'Deletes the webhook and its deliveries. No further events are sent to its URL.',
      params,
      needs: ['caller'],
      preconditions: ['If-Match'],
      success: noContent('The webhook was deleted.'),
    },
    rotateWebhookSecret: {
      route: 'POST /webhooks/{webhookId}/rotate-secret',
      summary: "Rotate a webhook's secret",
      description:
        'Returns the webhook with a new `secret`. For 24 hours, requests are signed with both secrets, so that a receiver can ' +
        'switch without rejecting requests.' +
        authority,
      params,
      body: emptyBody,
      needs: ['caller', 'secret'],
      preconditions: ['If-Match'],
      success: success(repeatableResponses.rotateWebhookSecret, IssuedWebhook, {
        200: 'The webhook with its new `secret`.',
      }),
    },
    testWebhook: {
      route: 'POST /webhooks/{webhookId}/test',
      summary: 'Send a test event',
      description:
        'Sends the event `webhook.test` once and returns the outcome. The status is 200 for any response from the receiver. ' +
        'Disabled webhooks can also be tested.' +
        authority,
      params,
      body: emptyBody,
      reads: ['webhooks'],
      needs: ['caller'],
      repeatable: false,
      isEffect: true,
      success: ok(WebhookTest, webhookTestJson, 'The outcome of the attempt.'),
    },
    redeliverEvents: {
      route: 'POST /webhooks/{webhookId}/redeliver',
      summary: 'Send events again',
      description:
        "Resends all events of the webhook's types after the given id, including events already delivered. Use this after a receiver " +
        'was down. A disabled webhook must be enabled first.' +
        authority,
      params,
      body: { schema: Redelivery },
      needs: ['caller', 'events'],
      sends: true,
      success: success(repeatableResponses.redeliverEvents, Webhook, { 202: 'The events will be sent.' }),
      errors: ['webhook_disabled', 'redelivery_in_progress', 'events_expired'],
    },
    redeliver: {
      route: 'POST /webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
      summary: 'Send a delivery again',
      description:
        "Resends a delivery's event as a new delivery. If the delivery is still pending, it is attempted immediately instead." +
        authority,
      params: { ...params, deliveryId: { schema: DeliveryId, otherwise: 'delivery_not_found' } },
      body: emptyBody,
      needs: ['caller'],
      sends: true,
      success: success(repeatableResponses.redeliver, Delivery, {
        202: 'The delivery that will be attempted.',
      }),
      errors: ['event_type_not_selected', 'too_many_deliveries'],
    },
    listDeliveries: {
      route: 'GET /webhooks/{webhookId}/deliveries',
      summary: "List a webhook's deliveries",
      description:
        'Returns a page of deliveries, newest first. The `Link` header has the URLs of the first and the next page. Deliveries are kept for 7 days after ' +
        'they end, but for each webhook, only the 10,000 newest that succeeded and the 10,000 newest that failed.',
      params,
      query: ListDeliveriesQuery,
      reads: ['webhooks', 'deliveries'],
      needs: ['caller'],
      paginated: true,
      success: okPage(Deliveries, deliveryJson, 'A page of deliveries.'),
    },
  },
);
