import type { StoreEvent } from '../../contract/events.ts';

/** The events directly behind `after`, up to the first gap: ids are contiguous, so events behind a gap miss others. */
export function withoutGap(events: readonly StoreEvent[], after: bigint): readonly StoreEvent[] {
  const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index + 1));
  return gap === -1 ? events : events.slice(0, gap);
}

/** Those of contiguous events that are behind `after`. */
export function behind(events: readonly StoreEvent[], after: bigint): readonly StoreEvent[] {
  const first = events[0]?.id ?? 0n;
  return after < first ? events : events.slice(Number(after - first) + 1);
}
