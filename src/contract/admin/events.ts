import * as z from 'zod';
import { eventOperations } from '../events.ts';
import { defineOperations, ok } from '../operation.ts';
import { assignedId, count, instant, int64Hint, objectSchema } from '../values.ts';

const EventMark = objectSchema('EventMark', 'The ID and time of an event.', {
  id: assignedId('ID of the event'),
  timestamp: instant('Time of the change (UTC).'),
});

const EventLog = objectSchema('EventLog', 'The range of retained events.', {
  areRecorded: z.boolean().describe('Whether changes are recorded as events (`EVENTS`).'),
  keepDays: count.describe('Number of days for which events are retained (`EVENTS_KEEP_DAYS`).'),
  lastId: z.bigint().meta({
    description: `The highest assigned id; 0 before the first event. ${int64Hint}`,
    override: { type: 'integer', format: 'int64', minimum: 0, examples: [42] },
  }),
  oldest: EventMark.nullable().describe('The oldest retained event; null if there is none.'),
  newest: EventMark.nullable().describe('The newest event; null if there is none.'),
  perHour: count.describe('Average number of events per hour since the oldest retained event.'),
});

export type EventLog = z.infer<typeof EventLog>;

function eventLogJson({ lastId, oldest, newest, ...others }: EventLog): string {
  const mark = (event: EventLog['oldest']) =>
    event === null ? 'null' : `{"id":${event.id},"timestamp":"${event.timestamp}"}`;
  const values = JSON.stringify(others).slice(1);
  return `{"lastId":${lastId},"oldest":${mark(oldest)},"newest":${mark(newest)},${values}`;
}

const { listEvents } = eventOperations;

export const adminEventOperations = {
  /** Like the public feed, but includes events of every type from every account. */
  listEvents: {
    ...listEvents,
    description:
      'Returns changes in commit order. Follow the `Link` with `rel="next"`, which every response has, to read ' +
      'each event exactly once.',
  },
  ...defineOperations(
    { tag: listEvents.tag },
    {
      getEventLog: {
        route: 'GET /event-log',
        summary: 'Get the range of retained events',
        description: 'Returns the oldest and newest events and the retention period.',
        success: ok(EventLog, eventLogJson, 'The range of retained events.'),
      },
    },
  ),
} as const;
