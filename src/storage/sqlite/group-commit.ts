import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupQueue } from '../group-queue.ts';
import { commitFailure, isBusy } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

/** How long a write waits for its commit: behind other groups, and for the lock another process holds. */
const commitTimeoutMs = 5_000;
const lockRetryMs = 2;

/** Commits writes in groups: one sync of the disk for all of them. */
export class GroupCommit<Item, Result> extends GroupQueue<Item, Result> {
  constructor(database: Database, format: FormatWatch, write: (item: Item) => Result) {
    const commit = database.transaction((items: readonly Item[]) => {
      format.verify();
      return items.map(write);
    }).immediate;
    super(commitTimeoutMs, (items, dueAt) => unlocked(() => commit(items), dueAt));
  }
}

/** Tries until other processes let the lock go, or it is due. */
async function unlocked<T>(commit: () => T, dueAt: number): Promise<T> {
  for (;;) {
    try {
      return commit();
    } catch (error) {
      if (!isBusy(error) || performance.now() > dueAt) throw commitFailure(error);
      // Waiting in SQLite would hold up every reader of this process; waiting here holds up the writers only.
      await sleep(lockRetryMs);
    }
  }
}
