import type { Store } from '../units.ts';

/** Number of events per batch. If a batch is full, there may be more. */
const batch = 1_000n;
/** Maximum number of batches per run. 200,000 events are more than a store can record between two runs. */
const maxBatches = 200;

export type EventRemoval = Pick<Store, 'events' | 'write'>;

/**
 * Deletes events recorded before `before` (Unix ms), until the signal is aborted. Batches are small, so that other
 * writes can run in between. Returns whether there may be more.
 */
export async function removeEvents(
  store: EventRemoval,
  before: number,
  signal: AbortSignal,
): Promise<boolean> {
  await numberEvents(store, signal);
  for (let batches = 0; batches < maxBatches && !signal.aborted; batches++) {
    if (!(await store.write('pruneEvents', before))) return false;
  }
  return true;
}

/**
 * Ensures that all committed events have ids. PostgreSQL assigns ids when events are read, so without readers no events
 * would expire.
 */
async function numberEvents({ events }: EventRemoval, signal: AbortSignal): Promise<void> {
  let { last } = await events.bounds();
  for (let before = -batch; last - before >= batch && !signal.aborted; ) {
    before = last;
    last = (await events.bounds()).last;
  }
}
