/** Runs work periodically until disposed of, without overlapping runs. */
export class PeriodicTask implements AsyncDisposable {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** `work` must report its failures, which do not stop the task. */
  constructor(everyMs: number, work: () => Promise<unknown>) {
    this.#timer = setInterval(() => {
      this.#running ??= work()
        .catch(() => undefined)
        .then(() => {
          this.#running = undefined;
        });
    }, everyMs);
    this.#timer.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
