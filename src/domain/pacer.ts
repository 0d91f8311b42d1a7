/** Parts of long tasks that wait for a tick of the event loop, in order. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a later tick of the event loop, so that requests are served between the parts of a long task. Each tick
 * runs one part, however many tasks there are.
 */
export const nextTick = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(runNext);
  });

function runNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runNext);
}

/**
 * Maximum time for which a long task blocks the event loop, plus the time of one item. Requests wait about half of it.
 */
const sliceMs = 1;

/**
 * Divides a long task into time slices, so that requests are served in between, however many items the task has and
 * however long each takes. Usage: `if (pacer.isDue) await pacer.pause()` after each item.
 */
export class Pacer {
  readonly #now: () => number;
  #dueAt: number;

  /** `now` is monotonic time in ms. */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#dueAt = now() + sliceMs;
  }

  get isDue(): boolean {
    return this.#now() >= this.#dueAt;
  }

  /** Lets requests be served, then begins the next slice. */
  async pause(): Promise<void> {
    await nextTick();
    this.#dueAt = this.#now() + sliceMs;
  }
}
