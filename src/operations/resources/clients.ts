/** All client operations: those shared with operators, and those only for clients. */
import type { operations } from '../../contract/operations.ts';
import type { rateLimitOperations } from '../../contract/rate-limit.ts';
import type { Clock } from '../../domain/clock.ts';
import type { WindowState } from '../../limits/limit.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { EventFeed } from '../events/feed.ts';
import { KeyWatch, type WatchStore } from '../events/key-watch.ts';
import type { EventStreams } from '../events/streams.ts';
import { toIso } from '../presenters.ts';
import { eventReaders } from './events.ts';
import type { OperationReaders, OperationUnits } from './rows.ts';
import { sharedReaders, sharedUnits } from './shared.ts';
import { type SendTest, webhookReaders, webhookUnits } from './webhooks.ts';

export type ClientReaders = OperationReaders<typeof operations, [Authenticated]>;

interface ReaderDependencies {
  readonly events: EventFeed;
  readonly streams: EventStreams;
  readonly store: WatchStore;
  readonly clock: Clock;
  readonly sendTest: SendTest;
}

export function clientReaders({
  events,
  streams,
  store,
  clock,
  sendTest,
}: ReaderDependencies): ClientReaders {
  return {
    ...sharedReaders,
    ...eventReaders(events, streams, new KeyWatch(store, clock)),
    ...rateLimitReaders,
    ...webhookReaders(sendTest),
  };
}

export const clientUnits = { ...sharedUnits, ...webhookUnits } as const satisfies OperationUnits<
  typeof operations,
  unknown
>;

const rateLimitReaders: OperationReaders<typeof rateLimitOperations, [Authenticated]> = {
  getRateLimit: (_store, _input, { caller, verdict }) => ({
    plan: caller.plan,
    minute: presentWindow(verdict.minute),
    day: presentWindow(verdict.day),
    bannedUntil: verdict.errorCode === 'api_key_banned' ? toIso(verdict.resetAt * 1_000) : null,
  }),
};

function presentWindow({ limit, remaining, resetAt }: WindowState) {
  return { limit, remaining, resetAt: toIso(resetAt * 1_000) };
}
