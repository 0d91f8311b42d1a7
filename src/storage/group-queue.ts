import type { Awaitable } from '../domain/awaitable.ts';
import { StorageUnavailable } from './storage.ts';

/** Most writes that may wait for their commit; more are refused at once. */
const longestQueue = 10_000;
/** Most writes in one transaction, so that none holds the event loop for long. */
const largestGroup = 1_000;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes that arrive together are committed together, one group after the other. Each is answered only after
 * its group's commit; if that fails, every one of the group is rejected.
 */
export class GroupQueue<Item, Result> {
  readonly #commit: (items: readonly Item[]) => Awaitable<readonly Result[]>;
  #queue: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;

  /** `commit` stores all the items or none, and returns their results in their order. */
  constructor(commit: (items: readonly Item[]) => Awaitable<readonly Result[]>) {
    this.#commit = commit;
  }

  /** Rejects with `StorageUnavailable` when too many wait, else as the commit does. */
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
      await this.#answer(this.#queue.splice(0, largestGroup));
    }
    this.#running = undefined;
  }

  async #answer(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#commit(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
