export interface Pending {
  /** Deadline, on the same clock as the time passed to `expire`. */
  readonly dueAt: number;
  readonly reject: (error: unknown) => void;
}

interface DeadlineQueueOptions {
  readonly maxEntries?: number;
  /** Creates the error for entries that are rejected because the queue is full. */
  readonly overload?: (size: number) => unknown;
  /** `run` is called at this interval while there are entries, and expires the entries whose deadline has passed. */
  readonly expiry?: { readonly intervalMs: number; readonly run: () => void };
}

/** Minimum number of empty slots before the oldest entry for the array to be compacted. */
const cutOff = 256;

/** A bounded queue of pending entries, oldest first. An entry leaves the queue when it is taken, removed or expired. */
export class DeadlineQueue<Entry extends Pending> {
  readonly #options: DeadlineQueueOptions;
  /** Entries by number, with gaps for entries that have left the queue. A Map would be three times as slow. */
  readonly #entries: (Entry | undefined)[] = [];
  #base = 1;
  #head = 0;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DeadlineQueueOptions = {}) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  get oldest(): Entry | undefined {
    return this.#entries[this.#head];
  }

  /**
   * Adds an entry and returns its number, starting at 1. Throws the error that `overload` creates if the queue is full.
   */
  add(entry: Entry): number {
    const { maxEntries = Number.POSITIVE_INFINITY, expiry } = this.#options;
    if (this.#size >= maxEntries) throw this.overload();
    this.#size++;
    if (expiry !== undefined)
      this.#timer ??= setInterval(() => this.#check(expiry.run), expiry.intervalMs).unref();
    return this.#base + this.#entries.push(entry) - 1;
  }

  overload(): unknown {
    return this.#options.overload?.(this.#size);
  }

  /** Removes an entry by its number; undefined if the entry has already left the queue. */
  remove(number: number): Entry | undefined {
    const place = number - this.#base;
    const entry = this.#entries[place];
    if (entry === undefined) return undefined;
    this.#entries[place] = undefined;
    this.#size--;
    if (place === this.#head) this.#moveHead();
    return entry;
  }

  take(limit: number): Entry[] {
    const taken: Entry[] = [];
    for (; taken.length < limit && this.#head < this.#entries.length; this.#head++) {
      const entry = this.#entries[this.#head];
      if (entry !== undefined) taken.push(entry);
      this.#entries[this.#head] = undefined;
    }
    this.#size -= taken.length;
    this.#moveHead();
    return taken;
  }

  /** Puts entries back at the front of the queue. Call this immediately after taking the entries. */
  requeue(entries: readonly Entry[]): void {
    this.#entries.splice(0, this.#head, ...entries);
    this.#base += this.#head - entries.length;
    this.#head = 0;
    this.#size += entries.length;
  }

  /**
   * Rejects the entries whose deadline has passed at `now`. Without `now`, rejects all entries. Returns the number of
   * rejected entries.
   */
  expire(error: unknown, now = Number.POSITIVE_INFINITY): number {
    const before = this.#size;
    const end = this.#base + this.#entries.length;
    for (let number = this.#base + this.#head; number < end; number++) {
      const entry = this.#entries[number - this.#base];
      if (entry === undefined || entry.dueAt > now) continue;
      this.remove(number);
      entry.reject(error);
    }
    return before - this.#size;
  }

  #moveHead(): void {
    while (this.#head < this.#entries.length && this.#entries[this.#head] === undefined) this.#head++;
    if (this.#head < cutOff || this.#head < this.#entries.length / 2) return;
    this.#entries.splice(0, this.#head);
    this.#base += this.#head;
    this.#head = 0;
  }

  #check(work: () => void): void {
    if (this.#size > 0) {
      afterUnreadReplies(work);
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Runs work after all replies that are still buffered in sockets have been processed. After a long event-loop tick,
 * sockets may contain unread replies.
 */
export function afterUnreadReplies(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
