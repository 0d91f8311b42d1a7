import { StorageUnavailable } from './storage.ts';

/** More is asked than can be done in time: nothing was done, and the server is not at fault. */
export class Overloaded extends StorageUnavailable {}

export interface ConcurrencyBounds {
  /** How many may be under way at once; the others wait, first come, first served. */
  readonly underWay: number;
  readonly waiting: number;
  readonly waitMs: number;
}

interface Waiting {
  readonly since: number;
  readonly start: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how much a server is asked at once, so that what waits for it waits here and is seen to. */
export class ConcurrencyLimit {
  readonly #bounds: ConcurrencyBounds;
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;

  constructor(bounds: ConcurrencyBounds) {
    this.#bounds = bounds;
  }

  /** Whether some wait. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /** Rejects with `Overloaded` when too many wait already, or it would have to wait too long. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay < this.#bounds.underWay) return this.#start(work);
    const { waiting } = this.#bounds;
    if (this.#waiting.size >= waiting) {
      return Promise.reject(new Overloaded(`too many queued requests (${waiting})`));
    }
    return new Promise((resolve, reject) => {
      const start = () => void this.#start(work).then(resolve, reject);
      this.#waiting.add({ since: performance.now(), start, reject });
    });
  }

  #start<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    const done = () => {
      this.#underWay--;
      this.#next();
    };
    const result = work();
    result.then(done, done);
    return result;
  }

  #next(): void {
    const latest = performance.now() - this.#bounds.waitMs;
    for (const one of this.#waiting) {
      this.#waiting.delete(one);
      if (one.since >= latest) {
        one.start();
        return;
      }
      one.reject(new Overloaded(`a request was queued for more than ${this.#bounds.waitMs} ms`));
    }
  }
}
