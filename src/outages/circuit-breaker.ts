import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Notify, Outage } from './outage.ts';

interface BreakerOptions {
  readonly name: string;
  readonly probe: () => Promise<void>;
  readonly probeEveryMs: number;
  readonly notice: Notify;
  readonly failsRequests?: boolean;
  /** How long an outage lasts at least after the last failed request, in ms. Some requests may fail although probes succeed. */
  readonly quietMs?: number;
}

/** Keeps requests from waiting for a server that is down, and probes the server until it works again. */
export class CircuitBreaker implements Disposable {
  readonly #options: BreakerOptions;
  readonly #outage: Outage;
  readonly #stopped = new AbortController();
  #trippedAt = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice, options.failsRequests);
  }

  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  trip(reason: unknown): void {
    this.#trippedAt = performance.now();
    if (this.trouble !== undefined || this.#stopped.signal.aborted) return;
    this.#outage.begin(describeError(reason));
    void this.#recover();
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
    const { probe, probeEveryMs, quietMs = 0 } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await probe();
        if (performance.now() - this.#trippedAt >= quietMs) {
          this.#outage.end();
          return;
        }
      } catch (error) {
        this.#outage.begin(describeError(error));
      }
      await sleep(probeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
