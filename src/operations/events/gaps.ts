import type { StoreEvent } from '../../contract/events.ts';

/**
 * The events directly after `after`, up to the first gap. Retained events have contiguous ids, so a gap means that a
 * reader would miss events by continuing.
 */
export function withoutGap(events: readonly StoreEvent[], after: bigint): readonly StoreEvent[] {
  const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index + 1));
  return gap === -1 ? events : events.slice(0, gap);
}

/** The events after `after`, from a list of contiguous events. */
export function behind(events: readonly StoreEvent[], after: bigint): readonly StoreEvent[] {
  const first = events[0]?.id ?? 0n;
  return after < first ? events : events.slice(Number(after - first) + 1);
}
