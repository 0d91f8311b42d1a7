import type { EventLoopTimes } from './traffic.ts';

/** How often it is looked how late the event loop is. A pause that is shorter is seen by chance. */
const lookEveryMs = 500;
/** Looks of the last minute. */
const keptLooks = 120;

/** How late the event loop comes to what is due: by a timer, which costs two wake-ups a second. */
export class EventLoopDelay implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #last = new Float64Array(keptLooks);
  #looks = 0;
  #sumSeconds = 0;
  #dueAt = performance.now() + lookEveryMs;

  constructor() {
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#timer.unref();
  }

  times(): EventLoopTimes {
    return { maxSeconds: Math.max(...this.#last), sumSeconds: this.#sumSeconds, looks: this.#looks };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const lateSeconds = Math.max(0, now - this.#dueAt) / 1_000;
    this.#last[this.#looks % keptLooks] = lateSeconds;
    this.#looks++;
    this.#sumSeconds += lateSeconds;
    this.#dueAt = now + lookEveryMs;
  }
}
