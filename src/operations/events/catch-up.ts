/** The share of its time that a process spends on catching up is one quarter: each read is followed by a rest. */
const restPerRead = 3;
/** Maximum rest in ms. A read that waited for an unreachable store must not delay the next one by much. */
const maxRestMs = 1_000;

/** Begins or skips a read that waits. */
type Turn = (begins: boolean) => void;

/**
 * Paces the streams and requests of a process that search the stored events: one read at a time, with a rest after it, by turns
 * between accounts. Otherwise, a few streams that search a long history would occupy the event loop and the database,
 * and no backpressure slows a stream down whose filter matches no event.
 */
export class CatchUps<Account = number> {
  /** Reads that wait for their turn, by account. The account that has waited longest comes first. */
  readonly #waiting = new Map<Account, Turn[]>();
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

  /**
   * Performs a read when it is the account's turn. Returns undefined without reading if the turn does not come within
   * `withinMs`, or if `close` is called first. Rejects with the error of the read.
   */
  async take<T>(accountId: Account, read: () => Promise<T>, withinMs?: number): Promise<T | undefined> {
    if (this.#isBusy && !(await this.#turn(accountId, withinMs))) return undefined;
    this.#isBusy = true;
    const start = this.#now();
    try {
      return await read();
    } finally {
      this.#rest(Math.min(restPerRead * (this.#now() - start), maxRestMs), () => this.#next());
    }
  }

  /** Skips all reads that wait for their turn. */
  close(): void {
    for (const turns of this.#waiting.values()) for (const turn of turns) turn(false);
    this.#waiting.clear();
  }

  /** Resolves with true when the turn begins, and with false if it is skipped. */
  #turn(accountId: Account, withinMs: number | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const turn: Turn = (begins) => {
        clearTimeout(timer);
        resolve(begins);
      };
      if (withinMs !== undefined) timer = setTimeout(() => this.#skip(accountId, turn), withinMs);
      const turns = this.#waiting.get(accountId);
      if (turns === undefined) this.#waiting.set(accountId, [turn]);
      else turns.push(turn);
    });
  }

  #skip(accountId: Account, turn: Turn): void {
    const others = this.#waiting.get(accountId)?.filter((other) => other !== turn) ?? [];
    // Setting an existing key of a map keeps its position.
    if (others.length > 0) this.#waiting.set(accountId, others);
    else this.#waiting.delete(accountId);
    turn(false);
  }

  #next(): void {
    this.#isBusy = false;
    for (const [accountId, turns] of this.#waiting.entries().take(1)) {
      this.#isBusy = true;
      // The account's next read comes after those of all other accounts.
      this.#waiting.delete(accountId);
      const [first, ...others] = turns;
      if (others.length > 0) this.#waiting.set(accountId, others);
      first?.(true);
    }
  }
}
