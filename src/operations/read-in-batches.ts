import type { Awaitable } from '../domain/awaitable.ts';
import { nextTick } from '../domain/pacer.ts';

/**
 * Reads a list in batches of `length` rows, each starting after the `last` row of the previous batch. Other work runs
 * between two batches, because a read blocks the event loop of an embedded store.
 */
export async function* readInBatches<Row>(
  length: number,
  read: (last: Row | undefined) => Awaitable<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    const batch = await read(last);
    yield batch;
    if (batch.length < length) return;
    last = batch.at(-1);
    await nextTick();
  }
}
