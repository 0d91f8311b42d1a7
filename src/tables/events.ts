import type { EventType } from '../domain/event-type.ts';
import { int64, integer, type NewRowOf, nullable, type RowOf, table, text, textColumn } from './table.ts';

/**
 * Minimum number of ids skipped by a restore, or by a failover on PostgreSQL (`skip_lost_ids`). Exceeds the number of
 * rows that could have been added since the backup. If ids were reused, readers would skip new events as already seen,
 * and webhook receivers would drop them as duplicates. The gap begins at the time in microseconds if it is higher than
 * the last id.
 */
export const skippedIdsPerRestore = 1_000_000_000;

/**
 * The gap also includes a random number of ids below this bound, so that several restores of a backup, or promotions of
 * replicas, do not assign the same ids. If two of them each add n rows to a table, the probability that they share an id is
 * at most 2n in 10^12. Ids stay below 2^53: every restore of a backup made since the previous restore adds less than
 * twelve days to the time, and there is room for 7,000 of them.
 */
export const skippedIdsSpread = 1_000_000_000_000;

/**
 * The outbox: an event is written in the transaction of its change. Ids become visible in ascending order without gaps,
 * so that a reader can detect deleted events. Only the oldest events are ever deleted.
 */
export const events = table(
  'events',
  {
    id: int64,
    // A later version may have added types.
    type: textColumn<EventType>(
      (stored) => stored as EventType,
      (type) => type,
    ),
    /** The resource as JSON. */
    data: text,
    /** The only account that may read the event; null if every account may. */
    accountId: nullable(integer),
    /** Unix ms. */
    createdAt: integer,
  },
  { isCounted: true },
);

export type StoredEvent = RowOf<typeof events>;
export type NewEvent = NewRowOf<typeof events>;
