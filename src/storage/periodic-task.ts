/** Does something again and again until it is disposed of; one time begins only after the last one ended. */
export class PeriodicTask implements AsyncDisposable {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** `work` is begun every `everyMs`; that it fails is its own matter. */
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
