import { DeadlineQueue, type Pending } from '../../outages/deadline-queue.ts';
import { StorageUnavailable } from '../../outages/errors.ts';

/** There are too many requests to process in time. Nothing was changed, and the server is up. */
export class OverloadedError extends StorageUnavailable {}

interface ConcurrencyBounds {
  /** Maximum number of requests in flight. Other requests wait in the order of arrival. */
  readonly inFlight: number;
  readonly waiting: number;
  readonly waitMs: number;
}

interface Waiting extends Pending {
  readonly start: () => void;
}

/** Limits the number of requests in flight to a server. Other requests wait in a queue, and may be rejected there. */
export class ConcurrencyLimit {
  readonly #bounds: ConcurrencyBounds;
  readonly #waiting: DeadlineQueue<Waiting>;
  #inFlight = 0;

  constructor(bounds: ConcurrencyBounds) {
    this.#bounds = bounds;
    this.#waiting = new DeadlineQueue({
      maxEntries: bounds.waiting,
      overload: (size) => new OverloadedError(`too many queued requests (${size})`),
    });
  }

  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /** Rejects with `OverloadedError` if the queue is full, or if the work was queued for too long. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inFlight < this.#bounds.inFlight) return this.#start(work);
    return new Promise((resolve, reject) => {
      const start = () => void this.#start(work).then(resolve, reject);
      this.#waiting.add({ dueAt: performance.now() + this.#bounds.waitMs, start, reject });
    });
  }

  #start<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight++;
    const done = () => {
      this.#inFlight--;
      this.#next();
    };
    const result = work();
    result.then(done, done);
    return result;
  }

  #next(): void {
    const now = performance.now();
    let [next] = this.#waiting.take(1);
    for (; next !== undefined && next.dueAt < now; [next] = this.#waiting.take(1)) {
      next.reject(new OverloadedError(`a request was queued for more than ${this.#bounds.waitMs} ms`));
    }
    next?.start();
  }
}
