import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from '../domain/awaitable.ts';
import { DeadlineQueue, type Pending } from './deadline-queue.ts';
import { StorageUnavailable } from './storage.ts';

/** Most writes that may wait for their commit; more are refused at once. */
const longestQueue = 10_000;
/** Most writes in one transaction, so that none holds the event loop for long. */
const largestGroup = 1_000;
/** A write with less than this part of its time-out left is refused. */
const leastPart = 0.05;
/** A commit is expected to take as long as the fastest of this many groups, so that one stall refuses no writes. */
const recentGroups = 3;
/** Longest pause between groups that settle nothing. */
const longestPauseMs = 50;

interface Waiting<Item, Outcome> extends Pending {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
}

/** The outcome of an item, or the error for which it alone was rolled back. */
export type Settled<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown };

/**
 * Stores the items in one commit and returns their outcomes in order; gives up at `dueAt`. Items without an outcome are
 * unchanged, and come again with the next group.
 */
export type Commit<Item, Outcome> = (
  items: readonly Item[],
  dueAt: number,
) => Awaitable<readonly (Settled<Outcome> | undefined)[]>;

export interface QueueFacts {
  readonly groups: number;
  /** Writes in them, with those that failed by themselves. */
  readonly units: number;
  readonly seconds: number;
  readonly waiting: number;
}

/**
 * Commits writes that arrive together as one group, one group after the other. Each is answered after its group's
 * commit; if that fails, all of the group are rejected. The time-out of a write begins with its arrival: if too little
 * of it is left for a commit, the write is refused without having changed anything.
 */
export class GroupQueue<Item, Outcome> {
  readonly #timeoutMs: number;
  readonly #commit: Commit<Item, Outcome>;
  readonly #waiting = new DeadlineQueue<Waiting<Item, Outcome>>({
    most: longestQueue,
    overload: (size) => new StorageUnavailable(`too many queued writes (${size})`),
  });
  #running: Promise<void> | undefined;
  /** How long the last groups took that were committed, in milliseconds. */
  readonly #recentMs: number[] = Array<number>(recentGroups).fill(0);
  /** Groups in succession that settled nothing, because others were in their way. */
  #vain = 0;
  #groups = 0;
  #units = 0;
  #tookMs = 0;

  constructor(timeoutMs: number, commit: Commit<Item, Outcome>) {
    this.#timeoutMs = timeoutMs;
    this.#commit = commit;
  }

  /** Rejects with `StorageUnavailable` when too many wait, or it has waited too long; else as the commit says. */
  add(item: Item): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const groupsAhead = Math.floor(this.#waiting.size / largestGroup);
      if (groupsAhead * this.#expectedMs > this.#timeoutMs) throw this.#waiting.overload();
      this.#waiting.add({ item, dueAt: performance.now() + this.#timeoutMs, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  get facts(): QueueFacts {
    return {
      groups: this.#groups,
      units: this.#units,
      seconds: this.#tookMs / 1_000,
      waiting: this.#waiting.size,
    };
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      // Further writes of this event-loop tick join the group.
      await new Promise((resolve) => setImmediate(resolve));
      this.#refuseLate();
      const group = this.#waiting.take(largestGroup);
      if (group.length > 0) await this.#answer(group);
      if (this.#vain > 0) await sleep(Math.min(2 ** this.#vain, longestPauseMs));
    }
    this.#running = undefined;
  }

  /** At most half the time-out: a write that has not waited is always tried. */
  get #expectedMs(): number {
    return Math.min(...this.#recentMs, this.#timeoutMs / 2);
  }

  /** Refuses writes with less time left than a commit takes, so that no group begins that would be given up. */
  #refuseLate(): void {
    const neededMs = Math.round(Math.max(this.#expectedMs, this.#timeoutMs * leastPart));
    const reason = `a write had less than ${neededMs} of its ${this.#timeoutMs} ms left, too little for a commit`;
    this.#waiting.expire(new StorageUnavailable(reason), performance.now() + neededMs);
  }

  async #answer(group: readonly Waiting<Item, Outcome>[]): Promise<void> {
    const startedAt = performance.now();
    const dueAt = group[0]?.dueAt ?? startedAt;
    try {
      const items = group.map(({ item }) => item);
      const settled = await this.#commit(items, dueAt);
      this.#recentMs.shift();
      this.#recentMs.push(performance.now() - startedAt);
      const again = group.filter((_, index) => settled[index] === undefined);
      this.#groups++;
      this.#units += group.length - again.length;
      this.#waiting.putBack(again);
      for (const [index, its] of settled.entries()) {
        const { resolve, reject } = group[index] as Waiting<Item, Outcome>;
        if (its === undefined) continue;
        if ('error' in its) reject(its.error);
        else resolve(its.outcome);
      }
      this.#vain = again.length === group.length ? this.#vain + 1 : 0;
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.#tookMs += performance.now() - startedAt;
    }
  }
}
