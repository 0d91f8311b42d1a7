/** Webhooks in the OpenAPI document (OpenAPI 3.1, section 4.8.1). */
import type { ZodOpenApiPathItemObject } from 'zod-openapi';
import { DeliveredEvent } from '../../src/contract/events.ts';
import { webhookOperations } from '../../src/contract/webhooks.ts';

const header = (name: string, description: string, example: string) => ({
  in: 'header' as const,
  name,
  required: true,
  description,
  schema: { type: 'string' as const, examples: [example] },
});

export const webhooks: Readonly<Record<string, ZodOpenApiPathItemObject>> = {
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: [webhookOperations.createWebhook.tag.name],
      summary: 'Receive an event',
      description:
        'Sent to the URL of a webhook, signed with its secret (Standard Webhooks 1.0). An event may be sent more than once with the ' +
        'same `webhook-id`.',
      'x-stability': 'beta',
      security: [],
      parameters: [
        header(
          'webhook-id',
          '`evt_` and the ID of the event, which is the same for every attempt; `evt_test_` and a unique value for each test. Detect duplicates by this header.',
          'evt_42',
        ),
        header('webhook-timestamp', 'Time of the attempt, as a Unix timestamp in seconds.', '1795219200'),
        header(
          'webhook-signature',
          'Signatures of `{webhook-id}.{webhook-timestamp}.{body}`, separated by spaces. Contains two signatures for 24 hours after a rotation.',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: DeliveredEvent } } },
      responses: {
        '2XX': {
          description: 'The event was received. Respond within 15 seconds. Any other status is retried.',
        },
        '410': { description: 'The receiver no longer accepts events, so the webhook is disabled.' },
      },
    },
  },
};
