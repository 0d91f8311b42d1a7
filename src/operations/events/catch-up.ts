/** The share of its time that a process spends on catching up is one quarter: each read is followed by a rest. */
const restPerRead = 3;
/** Maximum rest in ms. A read that waited for an unreachable store must not delay the next one by much. */
const maxRestMs = 1_000;

/**
 * Paces the streams of a process that search the stored events: one read at a time, with a rest after it, by turns
 * between accounts. Otherwise, a few streams that search a long history would occupy the event loop and the database,
 * and no backpressure slows a stream down whose filter matches no event.
 */
export class CatchUps {
  /** Reads that wait for their turn, by account. The account that has waited longest comes first. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #now: () => number;
  readonly #rest: (ms: number, next: () => void) => void;
  #isBusy = false;

  /** `now` is monotonic time in ms. `rest` calls `next` after a time in ms. */
  constructor(
    now = () => performance.now(),
    rest = (ms: number, next: () => void) => void setTimeout(next, ms).unref(),
  ) {
    this.#now = now;
    this.#rest = rest;
  }

  /** Performs a read when it is the account's turn. Rejects with the error of the read. */
  async take<T>(accountId: number, read: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await this.#turn(accountId);
    this.#isBusy = true;
    const start = this.#now();
    try {
      return await read();
    } finally {
      this.#rest(Math.min(restPerRead * (this.#now() - start), maxRestMs), () => this.#next());
    }
  }

  #turn(accountId: number): Promise<void> {
    return new Promise((resolve) => {
      const reads = this.#waiting.get(accountId);
      if (reads === undefined) this.#waiting.set(accountId, [resolve]);
      else reads.push(resolve);
    });
  }

  #next(): void {
    this.#isBusy = false;
    for (const [accountId, reads] of this.#waiting.entries().take(1)) {
      this.#isBusy = true;
      // The account's next read comes after those of all other accounts.
      this.#waiting.delete(accountId);
      const [first, ...others] = reads;
      if (others.length > 0) this.#waiting.set(accountId, others);
      first?.();
    }
  }
}
