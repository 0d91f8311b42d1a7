import { runAtMultiples } from '../domain/run-at-multiples.ts';

/** Runs work periodically until disposed of, without overlapping runs. */
export class PeriodicTask implements AsyncDisposable {
  readonly #timer: Disposable;
  #running: Promise<void> | undefined;

  /** `work` must report its failures, which do not stop the task. */
  constructor(everyMs: number, work: () => Promise<unknown>) {
    this.#timer = runAtMultiples(everyMs, () => {
      this.#running ??= work()
        .catch(() => undefined)
        .then(() => {
          this.#running = undefined;
        });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#running;
  }
}
