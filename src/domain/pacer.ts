/** Resolves in the next tick of the event loop, so that requests are served between the parts of a long task. */
export const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
