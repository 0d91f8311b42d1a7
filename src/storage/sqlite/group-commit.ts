import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupQueue } from '../group-queue.ts';
import { commitFailure, isBusy } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

/** How long a group tries to get the lock another process holds. */
const lockTimeoutMs = 5_000;
const lockRetryMs = 2;

/** Commits writes in groups: one sync of the disk for all of them. */
export class GroupCommit<Item, Result> extends GroupQueue<Item, Result> {
  constructor(database: Database, format: FormatWatch, write: (item: Item) => Result) {
    const commit = database.transaction((items: readonly Item[]) => {
      format.verify();
      return items.map(write);
    }).immediate;
    super((items) => unlocked(() => commit(items)));
  }
}

/** Tries until other processes let the lock go. */
async function unlocked<T>(commit: () => T): Promise<T> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    try {
      return commit();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw commitFailure(error);
      // Waiting in SQLite would hold up every reader of this process; waiting here holds up the writers only.
      await sleep(lockRetryMs);
    }
  }
}
