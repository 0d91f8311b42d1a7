import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from '../domain/awaitable.ts';
import { DeadlineQueue, type Pending } from '../outages/deadline-queue.ts';
import { StorageUnavailable, WriteUncertainError } from '../outages/errors.ts';

/** Maximum number of writes that are waiting for a commit. Additional writes are rejected immediately. */
const maxQueueLength = 10_000;
/** Maximum number of writes per transaction, so that no transaction blocks the event loop for long. */
const maxGroupSize = 1_000;
/** A write with less than this fraction of its timeout left is rejected. */
const minShare = 0.05;
/**
 * The expected duration of a commit is the shortest of this many recent commits, so that a single stall causes no
 * rejections.
 */
const recentGroups = 3;
/** Maximum pause after a group in which every write has to be retried. */
const maxPauseMs = 50;

interface Waiting<Item, Outcome> extends Pending {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
}

/** The outcome of an item, or the error that caused only this item to be rolled back. */
export type Settled<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown };

/**
 * Stores the items, usually in one commit, and returns their outcomes in order, or fails at `dueAt`. Items without an
 * outcome changed nothing, and are retried with the next group.
 */
type Commit<Item, Outcome> = (
  items: readonly Item[],
  dueAt: number,
  /** Deadline of each write. */
  duesAt: readonly number[],
) => Awaitable<readonly (Settled<Outcome> | undefined)[]>;

export interface QueueFacts {
  readonly groups: number;
  /** Number of writes in the committed groups, including writes that failed individually. */
  readonly units: number;
  readonly seconds: number;
  readonly waiting: number;
}

/**
 * Commits concurrent writes in groups, one group at a time. Each write is answered after its group is committed. If the
 * commit fails, all writes of the group are rejected. However, if the oldest write timed out and nothing was changed,
 * the other writes are retried. A write's timeout starts when the write arrives. If too little time is left for a
 * commit, the write is rejected and changes nothing.
 */
export class GroupQueue<Item, Outcome> {
  readonly #timeoutMs: number;
  readonly #commit: Commit<Item, Outcome>;
  readonly #maxGroupSize: number;
  readonly #waiting = new DeadlineQueue<Waiting<Item, Outcome>>({
    maxEntries: maxQueueLength,
    overload: (size) => new StorageUnavailable(`too many queued writes (${size})`),
  });
  #running: Promise<void> | undefined;
  /** Durations of the last committed groups, in milliseconds. */
  readonly #recentMs: number[] = Array<number>(recentGroups).fill(0);
  /** Number of consecutive groups in which every write has to be retried because of conflicts. */
  #conflictsInARow = 0;
  #groups = 0;
  #units = 0;
  #tookMs = 0;

  constructor(timeoutMs: number, commit: Commit<Item, Outcome>, groupSize = maxGroupSize) {
    this.#timeoutMs = timeoutMs;
    this.#commit = commit;
    this.#maxGroupSize = groupSize;
  }

  /**
   * Rejects with `StorageUnavailable` if too many writes are waiting or this write has waited too long, and with the
   * commit's error if the commit fails.
   */
  add(item: Item, dueAt = performance.now() + this.#timeoutMs): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const groupsAhead = Math.floor(this.#waiting.size / this.#maxGroupSize);
      if (groupsAhead * this.#expectedMs > this.#timeoutMs) throw this.#waiting.overload();
      this.#waiting.add({ item, dueAt, resolve, reject });
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
      // Other writes of this event-loop tick join the group.
      await new Promise((resolve) => setImmediate(resolve));
      this.#refuseLate();
      const group = this.#waiting.take(this.#maxGroupSize);
      if (group.length > 0) await this.#answer(group);
      if (this.#conflictsInARow > 0) await sleep(Math.min(2 ** this.#conflictsInARow, maxPauseMs));
    }
    this.#running = undefined;
  }

  /**
   * Expected duration of a commit: at most half the timeout, so that a write that has not waited is always attempted.
   */
  get #expectedMs(): number {
    return Math.min(...this.#recentMs, this.#timeoutMs / 2);
  }

  /** Rejects writes with too little time left for a commit, so that no group begins that would time out. */
  #refuseLate(): void {
    const neededMs = Math.round(Math.max(this.#expectedMs, this.#timeoutMs * minShare));
    const reason = `a write had less than ${neededMs} of its ${this.#timeoutMs} ms left, too little for a commit`;
    this.#waiting.expire(new StorageUnavailable(reason), performance.now() + neededMs);
  }

  async #answer(group: readonly Waiting<Item, Outcome>[]): Promise<void> {
    const startedAt = performance.now();
    const dueAt = group[0]?.dueAt ?? startedAt;
    try {
      const items = group.map(({ item }) => item);
      const duesAt = group.map((each) => each.dueAt);
      const settled = await this.#commit(items, dueAt, duesAt);
      this.#recentMs.shift();
      this.#recentMs.push(performance.now() - startedAt);
      const again = group.filter((_, index) => settled[index] === undefined);
      this.#groups++;
      this.#units += group.length - again.length;
      this.#waiting.requeue(again);
      for (const [index, its] of settled.entries()) {
        const { resolve, reject } = group[index] as Waiting<Item, Outcome>;
        if (its === undefined) continue;
        if ('error' in its) reject(its.error);
        else resolve(its.outcome);
      }
      this.#conflictsInARow = again.length === group.length ? this.#conflictsInARow + 1 : 0;
    } catch (error) {
      const now = performance.now();
      const isUnchanged = error instanceof StorageUnavailable && !(error instanceof WriteUncertainError);
      // If the oldest write timed out, retries the writes that have not timed out yet.
      const again = isUnchanged && now >= dueAt ? group.filter((each) => each.dueAt > now) : [];
      this.#waiting.requeue(again);
      for (const { reject } of group.slice(0, group.length - again.length)) reject(error);
    } finally {
      this.#tookMs += performance.now() - startedAt;
    }
  }
}
