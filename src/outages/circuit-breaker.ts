import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Notify, Outage } from './outage.ts';

interface BreakerOptions {
  readonly name: string;
  readonly probe: () => Promise<void>;
  readonly probeEveryMs: number;
  readonly notice: Notify;
  readonly failsRequests?: boolean;
  /** Whether an outage begins only if the first probe fails too, because a request may fail for a reason of its own. */
  readonly confirms?: boolean;
}

/** Keeps requests from waiting for a server that is down, and probes the server until it works again. */
export class CircuitBreaker implements Disposable {
  readonly #options: BreakerOptions;
  readonly #outage: Outage;
  readonly #stopped = new AbortController();
  #isProbing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice, options.failsRequests);
  }

  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  trip(reason: unknown): void {
    if (this.#isProbing || this.#stopped.signal.aborted) return;
    this.#isProbing = true;
    if (!this.#options.confirms) this.#outage.begin(describeError(reason));
    void this.#recover().finally(() => {
      this.#isProbing = false;
    });
  }

  /** Ends the outage and stops probing a server that is no longer needed. */
  retire(reason: string): void {
    this[Symbol.dispose]();
    this.#outage.end(reason);
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  async #recover(): Promise<void> {
    const { probe, probeEveryMs } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await probe();
        this.#outage.end();
        return;
      } catch (error) {
        this.#outage.begin(describeError(error));
        await sleep(probeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}
