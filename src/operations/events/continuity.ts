import type { Store } from '../units.ts';

/**
 * Leaves a gap in the event ids, both when recording is turned off and when it is turned on again. Every reader that
 * reaches a gap starts over, including one that read the resources while recording was off.
 */
export async function leaveGap(store: Pick<Store, 'events' | 'write'>, areRecorded: boolean): Promise<void> {
  if (areRecorded && !(await endsWithGap(store.events))) return;
  while (!(await store.write('skipEvents', null)));
}

/** Whether the event with the highest id is missing, because ids were skipped or all events have expired. */
async function endsWithGap(events: Store['events']): Promise<boolean> {
  const { last } = await events.bounds();
  // The newest event is read after the bounds, because another process may be recording events.
  const [newest] = await events.newest(1);
  return last > (newest?.id ?? 0n);
}
