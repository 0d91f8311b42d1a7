export interface Pending {
  /** When it expires, by the clock that `expire` is given. */
  readonly dueAt: number;
  readonly reject: (error: unknown) => void;
}

interface DeadlineQueueOptions {
  readonly most?: number;
  /** Makes the error of an entry that is refused because too many wait. */
  readonly overload?: (size: number) => unknown;
  /** Called every so many milliseconds while there are entries, to expire those that are due. */
  readonly look?: { readonly everyMs: number; readonly work: () => void };
}

/** Empty places before the oldest entry are cut off when there are this many. */
const cutOff = 256;

/** A bounded queue of pending entries, oldest first. An entry leaves it when it is taken, answered or expired. */
export class DeadlineQueue<Entry extends Pending> {
  readonly #options: DeadlineQueueOptions;
  /** In the order of their numbers, with gaps for entries that have left. A map is three times as slow. */
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

  /** Returns the entry's number, from 1. Throws the error of `overload` when the queue is full. */
  add(entry: Entry): number {
    const { most = Number.POSITIVE_INFINITY, look } = this.#options;
    if (this.#size >= most) throw this.overload();
    this.#size++;
    if (look !== undefined) this.#timer ??= setInterval(() => this.#look(look.work), look.everyMs).unref();
    return this.#base + this.#entries.push(entry) - 1;
  }

  overload(): unknown {
    return this.#options.overload?.(this.#size);
  }

  /** Removes an entry by its number; undefined when it has left the queue before. */
  remove(number: number): Entry | undefined {
    const place = number - this.#base;
    const entry = this.#entries[place];
    if (entry === undefined) return undefined;
    this.#entries[place] = undefined;
    this.#size--;
    if (place === this.#head) this.#moveHead();
    return entry;
  }

  take(most: number): Entry[] {
    const taken: Entry[] = [];
    for (; taken.length < most && this.#head < this.#entries.length; this.#head++) {
      const entry = this.#entries[this.#head];
      if (entry !== undefined) taken.push(entry);
      this.#entries[this.#head] = undefined;
    }
    this.#size -= taken.length;
    this.#moveHead();
    return taken;
  }

  /** Puts entries that were just taken before all others. */
  putBack(entries: readonly Entry[]): void {
    this.#entries.splice(0, this.#head, ...entries);
    this.#base += this.#head - entries.length;
    this.#head = 0;
    this.#size += entries.length;
  }

  /** Rejects the entries that are due, by default all of them. Returns their number. */
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

  #look(work: () => void): void {
    if (this.#size > 0) {
      afterUnreadAnswers(work);
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Runs work after unread replies in sockets have been processed, as there are after a long event-loop tick. */
export function afterUnreadAnswers(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
