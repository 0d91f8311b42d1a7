import type { Awaitable } from '../domain/awaitable.ts';
import { StorageUnavailable } from './storage.ts';

/** Most writes that may wait for their commit; more are refused at once. */
const longestQueue = 10_000;
/** Most writes in one transaction, so that none holds the event loop for long. */
const largestGroup = 1_000;
/** The part of the time-out that a commit is given at least; who has less left is refused. */
const leastPart = 0.05;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  /** When it has to be answered (`performance.now()`). */
  readonly dueAt: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** What became of an item: its outcome, or the error with which it alone was undone. */
export type Settled<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown };

/**
 * Stores the items in one commit, and tells what became of each, in their order; gives up when it is due. It may stop
 * early, behind the first one or later: those it tells nothing of are untouched, and come again with the next group.
 */
export type Commit<Item, Outcome> = (
  items: readonly Item[],
  dueAt: number,
) => Awaitable<readonly Settled<Outcome>[]>;

/** What a queue has done since its start. */
export interface QueueFacts {
  /** Committed. */
  readonly groups: number;
  /** Writes in them, with those that failed by themselves. */
  readonly units: number;
  /** That the groups took, with those that failed. */
  readonly seconds: number;
  /** Writes that wait for their group. */
  readonly waiting: number;
}

/**
 * Writes that arrive together are committed together, one group after the other. Each is answered only after
 * its group's commit; if that fails, every one of the group is rejected. The time a write has counts from its arrival:
 * who cannot be committed in what is left of it is refused when it is taken up, having changed nothing.
 */
export class GroupQueue<Item, Outcome> {
  readonly #timeoutMs: number;
  readonly #commit: Commit<Item, Outcome>;
  #queue: Waiting<Item, Outcome>[] = [];
  #running: Promise<void> | undefined;
  /** How long the last group took that was committed, in milliseconds; half the time-out at most. */
  #lastTookMs = 0;
  #groups = 0;
  #units = 0;
  #tookMs = 0;

  /** `timeoutMs` is how long a write may take from its arrival. */
  constructor(timeoutMs: number, commit: Commit<Item, Outcome>) {
    this.#timeoutMs = timeoutMs;
    this.#commit = commit;
  }

  /** Rejects with `StorageUnavailable` when too many wait, or it has waited too long; else as the commit says. */
  add(item: Item): Promise<Outcome> {
    const groupsAhead = Math.floor(this.#queue.length / largestGroup);
    if (this.#queue.length >= longestQueue || groupsAhead * this.#lastTookMs > this.#timeoutMs) {
      return Promise.reject(new StorageUnavailable(`too many queued writes (${this.#queue.length})`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, dueAt: performance.now() + this.#timeoutMs, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything added so far is answered. */
  async idle(): Promise<void> {
    await this.#running;
  }

  get facts(): QueueFacts {
    return {
      groups: this.#groups,
      units: this.#units,
      seconds: this.#tookMs / 1_000,
      waiting: this.#queue.length,
    };
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // The rest of this turn of the event loop may bring more writes; they join this group.
      await new Promise((resolve) => setImmediate(resolve));
      this.#refuseLate();
      const group = this.#queue.splice(0, largestGroup);
      if (group.length > 0) await this.#answer(group);
    }
    this.#running = undefined;
  }

  /** Refuses who has less time left than a commit takes, so that no group is taken up to be given up. */
  #refuseLate(): void {
    const soonest = performance.now() + Math.max(this.#lastTookMs, this.#timeoutMs * leastPart);
    const inTime = this.#queue.findIndex(({ dueAt }) => dueAt > soonest);
    const late = this.#queue.splice(0, inTime < 0 ? this.#queue.length : inTime);
    const reason = `writes were not committed within ${this.#timeoutMs} ms`;
    for (const { reject } of late) reject(new StorageUnavailable(reason));
  }

  async #answer(group: readonly Waiting<Item, Outcome>[]): Promise<void> {
    const startedAt = performance.now();
    // The oldest is first.
    const dueAt = group[0]?.dueAt ?? startedAt;
    try {
      const items = group.map(({ item }) => item);
      const settled = await this.#commit(items, dueAt);
      this.#lastTookMs = Math.min(performance.now() - startedAt, this.#timeoutMs / 2);
      this.#groups++;
      this.#units += settled.length;
      this.#queue.unshift(...group.slice(settled.length));
      for (const [index, its] of settled.entries()) {
        const { resolve, reject } = group[index] as Waiting<Item, Outcome>;
        if ('error' in its) reject(its.error);
        else resolve(its.outcome);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.#tookMs += performance.now() - startedAt;
    }
  }
}
