/** Begins or skips a waiting task. */
type Turn = (begins: boolean) => void;

/** Calls `next` after a time in ms. */
type Wait = (ms: number, next: () => void) => void;

type Rest = (tookMs: number, next: () => void) => void;

/**
 * Length of the rest after a task, as a multiple of the task's duration. A process spends at most a quarter of its time
 * on the tasks of a queue.
 */
const restPerTask = 3;
/** Maximum rest in ms. A task that waited for an unreachable store must not delay the next one by much. */
const maxRestMs = 1_000;

/** Rests after each task, so that many tasks do not occupy the event loop. */
export function restInProportion(wait: Wait = (ms, next) => void setTimeout(next, ms).unref()): Rest {
  return (tookMs, next) => wait(Math.min(restPerTask * tookMs, maxRestMs), next);
}

/** Runs tasks one at a time, alternating between owners, so that an owner with many tasks does not delay the others. */
export class FairQueue<Owner> {
  /** Tasks that wait for their turn, by owner. The owner that has waited longest comes first. */
  readonly #waiting = new Map<Owner, Turn[]>();
  readonly #now: () => number;
  readonly #rest: Rest;
  #isBusy = false;

  /** `rest` is called after each task with the time that it took, and calls `next` when the next task may begin. */
  constructor(
    rest: Rest = (_tookMs, next) => next(),
    /** Monotonic time in ms. */
    now = () => performance.now(),
  ) {
    this.#rest = rest;
    this.#now = now;
  }

  /**
   * Runs a task when it is the owner's turn. Returns undefined without running it if the turn does not come within
   * `withinMs`, or if `close` is called first. Rejects with the error of the task.
   */
  async take<T>(owner: Owner, task: () => Promise<T>, withinMs?: number): Promise<T | undefined> {
    if (this.#isBusy && !(await this.#turn(owner, withinMs))) return undefined;
    this.#isBusy = true;
    const start = this.#now();
    try {
      return await task();
    } finally {
      this.#rest(this.#now() - start, () => this.#next());
    }
  }

  /** Skips all tasks that are waiting for their turn. */
  close(): void {
    for (const turns of this.#waiting.values()) for (const turn of turns) turn(false);
    this.#waiting.clear();
  }

  /** Resolves with true when the turn begins, and with false if it is skipped. */
  #turn(owner: Owner, withinMs: number | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const turn: Turn = (begins) => {
        clearTimeout(timer);
        resolve(begins);
      };
      if (withinMs !== undefined) timer = setTimeout(() => this.#skip(owner, turn), withinMs);
      const turns = this.#waiting.get(owner);
      if (turns === undefined) this.#waiting.set(owner, [turn]);
      else turns.push(turn);
    });
  }

  #skip(owner: Owner, turn: Turn): void {
    const others = this.#waiting.get(owner)?.filter((other) => other !== turn) ?? [];
    // Setting an existing key of a map keeps its position.
    if (others.length > 0) this.#waiting.set(owner, others);
    else this.#waiting.delete(owner);
    turn(false);
  }

  #next(): void {
    this.#isBusy = false;
    for (const [owner, turns] of this.#waiting.entries().take(1)) {
      this.#isBusy = true;
      // The owner's next task comes after those of all other owners.
      this.#waiting.delete(owner);
      const [first, ...others] = turns;
      if (others.length > 0) this.#waiting.set(owner, others);
      first?.(true);
    }
  }
}
