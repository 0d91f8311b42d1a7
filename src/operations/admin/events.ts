import type { adminEventOperations, EventLog } from '../../contract/admin/events.ts';
import type { Clock } from '../../domain/clock.ts';
import { dayMs, hourMs } from '../../domain/clock.ts';
import { type EventSelector, expandSelectors } from '../../domain/event-type.ts';
import type { EventStore } from '../../storage/storage.ts';
import { skippedIdsPerRestore } from '../../tables/events.ts';
import type { EventFeed, EventFilter } from '../events/feed.ts';
import { toIso } from '../presenters.ts';
import { readFeedPage } from '../resources/events.ts';
import type { EventRetention } from '../sweeper.ts';
import type { HandlersOf } from './handlers.ts';

/** Selects the events of all accounts. */
export function unrestrictedFilter(selectors: readonly EventSelector[] = []): EventFilter {
  return { types: expandSelectors(selectors), accountId: 'all' };
}

/** Summarizes the retained events with a few reads, plus a few for each gap and each billion events. */
export async function readEventLog(
  events: EventStore,
  { areRecorded, keepMs }: EventRetention,
  clock: Pick<Clock, 'now'>,
): Promise<EventLog> {
  const { oldest: from, last } = await events.bounds();
  const [oldest] = await events.list(from - 1n, 1);
  const [newest] = await events.newest(1);
  const mark = (event: typeof oldest) => (event ? { id: event.id, timestamp: toIso(event.createdAt) } : null);
  const hours = Math.max(1, (clock.now() - (oldest?.createdAt ?? 0)) / hourMs);
  const retained = oldest && newest ? await countEvents(events, oldest.id, newest.id) : 0;
  return {
    ...{ areRecorded, keepDays: keepMs / dayMs, lastId: last },
    ...{ oldest: mark(oldest), newest: mark(newest) },
    perHour: Math.round(retained / hours),
  };
}

/** The number of events in a range of ids, excluding ids that restores skipped. */
async function countEvents(events: EventStore, first: bigint, newest: bigint): Promise<number> {
  const step = BigInt(skippedIdsPerRestore);
  let skipped = 0n;
  // Every gap has at least `step` ids, so looking ahead by `step` ids never misses one.
  for (let at = first; at + step <= newest; ) {
    const [next] = await events.list(at + step - 1n, 1);
    if (next === undefined) break;
    if (next.id !== at + step) {
      const [last] = await events.newest(1, next.id);
      skipped += next.id - (last?.id ?? next.id) - 1n;
    }
    at = next.id;
  }
  return Number(newest - first - skipped) + 1;
}

interface Services {
  readonly store: { readonly events: EventStore };
  readonly clock: Clock;
  readonly feed: EventFeed;
  readonly eventSettings: EventRetention;
}

export const eventHandlers: HandlersOf<Services, typeof adminEventOperations> = {
  listEvents: ({ feed }, { query }, { aroundWait }) =>
    readFeedPage(feed, query, unrestrictedFilter(query.type), { aroundWait }),
  getEventLog: ({ store, eventSettings, clock }) => readEventLog(store.events, eventSettings, clock),
};
