/** Everything that clients do: what they share with operators, and what is theirs alone. */
import type { operations } from '../../contract/operations.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { EventFeed } from '../events/feed.ts';
import type { EventStreams } from '../events/streams.ts';
import { eventReaders } from './events.ts';
import { rateLimitReaders } from './rate-limits.ts';
import type { ReadersOf, UnitsOf } from './rows.ts';
import { sharedReaders, sharedUnits } from './shared.ts';
import { webhookReaders, webhookUnits } from './webhooks.ts';

export type ClientReaders = ReadersOf<typeof operations, [Authenticated]>;

export function clientReaders(events: EventFeed, streams: EventStreams): ClientReaders {
  return { ...sharedReaders, ...eventReaders(events, streams), ...rateLimitReaders, ...webhookReaders };
}

export const clientUnits = { ...sharedUnits, ...webhookUnits } as const satisfies UnitsOf<
  typeof operations,
  unknown
>;
