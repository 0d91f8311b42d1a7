import * as z from 'zod';
import {
  type EventGroup,
  type EventSelector,
  eventGroup,
  eventSelectors,
  eventTypes,
} from '../domain/event-type.ts';
import { Category } from './categories.ts';
import { defineOperations, okPage, okStream } from './operation.ts';
import { Order } from './orders.ts';
import { Pet } from './pets.ts';
import { type EventRepresentation, eventJson } from './representations.ts';
import {
  assignedId,
  count,
  enumSchema,
  instant,
  int64,
  int64Filter,
  limitParameter,
  listHint,
  objectSchema,
  omittedExample,
  pageSchema,
  text,
} from './values.ts';

/** Formats an event as a server-sent event. The JSON has no line breaks, so `data` needs only one line. */
export function eventFrame(event: EventRepresentation): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event)}\n\n`;
}

const PetsImported = objectSchema(
  'PetsImported',
  'A batch of imported animals. Other animals may also have ids in this range.',
  {
    count,
    firstId: int64('The lowest id in the batch.', 1),
    lastId: int64('The highest id in the batch.', 1),
  },
);

const WebhookDisabled = objectSchema('WebhookDisabled', 'A webhook that was disabled.', {
  id: int64('ID of the webhook.', 1),
  reason: text('Reason why the webhook was disabled.', 'gone'),
});

const dataByGroup = {
  pet: Pet,
  pets: PetsImported,
  order: Order,
  category: Category,
  webhook: WebhookDisabled,
} satisfies Record<EventGroup, z.ZodType>;

/** The data of events, by group. */
export type EventData = { readonly [Group in EventGroup]: z.infer<(typeof dataByGroup)[Group]> };

const eventShapes = eventTypes.map((type) => {
  const [group = 'pet', change = ''] = type.split('.');
  const name = [group, change].map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
  return objectSchema(`${name}Event`, `The event \`${type}\`.`, {
    id: assignedId('ID of the event'),
    type: z.literal(type),
    timestamp: instant('Time of the change (UTC).'),
    data: dataByGroup[eventGroup(type)],
  });
});

/** Sent by `testWebhook`, but never recorded. */
const WebhookTestEvent = objectSchema(
  'WebhookTestEvent',
  'The event `webhook.test`, which only a test sends.',
  {
    id: int64('Always 0, because the event is not recorded.', 0),
    type: z.literal('webhook.test'),
    timestamp: instant('Time of the test (UTC).'),
    data: objectSchema('WebhookTestData', 'The tested webhook.', { id: int64('ID of the webhook.', 1) }),
  },
);

/** The body of a request to a receiver. */
export const DeliveredEvent = z
  .discriminatedUnion('type', [...eventShapes, WebhookTestEvent] as unknown as [(typeof eventShapes)[0]])
  .meta({
    id: 'SentEvent',
    description: 'A recorded event, or the event `webhook.test`.',
  });

export const Event = z.discriminatedUnion('type', eventShapes as [(typeof eventShapes)[0]]).meta({
  id: 'Event',
  description: 'A change. Contains the resource after the change, or before its deletion.',
});

const Events = pageSchema(Event, 'Events', 'A page of events.');

export const EventSelectorName = enumSchema(
  eventSelectors as readonly [EventSelector, ...EventSelector[]],
).meta({
  id: 'EventSelector',
  description:
    'A type of event, or all types of a resource: `pet.*` selects all events about animals, including `pets.imported`.',
});

/** Maximum time that a request waits for an event, in seconds. */
export const maxWaitSeconds = 30;

const waitForm = `must be an integer from 0 to ${maxWaitSeconds}, in plain decimal digits`;

const maxTypes = eventSelectors.length;

const types = z
  .string()
  .transform((list) => list.split(',', maxTypes + 1))
  .pipe(z.array(EventSelectorName).max(maxTypes, `must have at most ${maxTypes} types`))
  .optional()
  .meta({
    description: `Return only events of these types (at most ${maxTypes}, separated by commas). ${listHint}`,
    override: {
      type: 'array',
      items: { $ref: '#/components/schemas/EventSelector' },
      maxItems: maxTypes,
    },
    param: { examples: omittedExample(['pet.*']) },
  });

const ListEventsQuery = z.strictObject({
  after: int64Filter('Return the events after this id. Defaults to the oldest retained event.'),
  limit: limitParameter('events'),
  type: types,
  wait: z
    .string()
    .refine((digits) => /^(?:0|[1-9]\d?)$/.test(digits) && Number(digits) <= maxWaitSeconds, waitForm)
    .transform(Number)
    .optional()
    .meta({
      description: 'Seconds to wait for an event before an empty page is returned (long polling).',
      override: { type: 'integer', format: 'int32', minimum: 0, maximum: maxWaitSeconds },
      param: { examples: omittedExample(0) },
    }),
  order: enumSchema(['asc', 'desc'])
    .optional()
    .meta({
      description:
        '`desc` returns the newest events first, searches only the newest 500 events of all types, and cannot be combined with `after` or `wait`.',
      param: { examples: omittedExample('asc') },
    }),
});

const StreamEventsQuery = z.strictObject({
  type: types,
  after: int64Filter('Start with the event after this id. Defaults to the next event that is committed.'),
});

/** Maximum number of open streams per account and process. */
export const maxStreams = 10;
/** Delay before a reader reconnects, in ms. */
export const reconnectAfterMs = 2_000;

export const eventOperations = defineOperations(
  { tag: { name: 'Events', description: 'Changes in commit order.' } },
  {
    listEvents: {
      route: 'GET /events',
      summary: 'List events',
      description:
        'Returns changes in commit order. Follow the `Link` with `rel="next"`, which every response has, to read ' +
        'each event exactly once. A key receives only events about resources that it may read.',
      query: ListEventsQuery,
      scope: 'events:read',
      feed: true,
      success: okPage(Events, eventJson, 'A page of events.'),
      errors: ['events_expired'],
    },
    streamEvents: {
      route: 'GET /events/stream',
      summary: 'Stream events',
      description:
        'Sends events as they are committed, as server-sent events (`text/event-stream`). Each event has its ID in `id`, its type in ' +
        '`event`, and the whole Event as one line of JSON in `data`. A comment is sent every 15 s. The stream ends when the service ' +
        'restarts, when the reader is more than 1 MiB behind, or when the key can no longer read these events. Connect ' +
        `again with the last ID in \`Last-Event-ID\` to resume without a gap. An account can have ${maxStreams} open streams.`,
      query: StreamEventsQuery,
      scope: 'events:read',
      success: okStream('The stream. The `data` of each event is an `Event`.'),
      errors: ['events_expired', 'too_many_streams'],
    },
  },
);
