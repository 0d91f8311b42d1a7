import type { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../storage.ts';
import { isBusy, translated } from './database.ts';

/** Most writes that may wait for their commit; more are refused at once. */
const longestQueue = 10_000;
/** Most writes in one transaction, so that none holds the event loop for long. */
const largestGroup = 1_000;
/** How long a group tries to get the lock another process holds. */
const lockTimeoutMs = 5_000;
const lockRetryMs = 2;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes that arrive together are committed together: one sync of the disk for all of them. Each is answered
 * only after its commit; if the commit fails, every one of the group is rejected and none is stored.
 */
export class GroupCommit<Item, Result> {
  readonly #write: (items: readonly Item[]) => Result[];
  #queue: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;

  constructor(database: Database, write: (item: Item) => Result) {
    this.#write = database.transaction((items: readonly Item[]) => items.map(write)).immediate;
  }

  /** Rejects with `StorageUnavailable` when the item could not be stored. */
  add(item: Item): Promise<Result> {
    if (this.#queue.length >= longestQueue) {
      return Promise.reject(new StorageUnavailable(`${longestQueue} writes are waiting already`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything added so far is answered. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // The rest of this turn of the event loop may bring more writes; they join this group.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commit(this.#queue.splice(0, largestGroup));
    }
    this.#running = undefined;
  }

  async #commit(group: Waiting<Item, Result>[]): Promise<void> {
    const deadline = performance.now() + lockTimeoutMs;
    for (;;) {
      try {
        const results = this.#write(group.map(({ item }) => item));
        for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) {
          for (const { reject } of group) reject(translated(error));
          return;
        }
        // Waiting in SQLite would hold up every reader of this process; waiting here holds up the writers only.
        await sleep(lockRetryMs);
      }
    }
  }
}
