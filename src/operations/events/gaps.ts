import type { StoreEvent } from '../../contract/events.ts';

/** The events directly behind `after`, up to the first gap: ids are contiguous, so events behind a gap miss others. */
export function withoutGap(events: readonly StoreEvent[], after: bigint): readonly StoreEvent[] {
  const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index + 1));
  return gap === -1 ? events : events.slice(0, gap);
}
