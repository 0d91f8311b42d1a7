import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Notify, Outage } from './outage.ts';

interface BreakerOptions {
  readonly name: string;
  readonly probe: () => Promise<void>;
  readonly probeEveryMs: number;
  readonly notice: Notify;
  readonly failsRequests?: boolean;
  /**
   * Minimum time between the last failed request and the end of the outage, in ms. Probes may succeed although some
   * requests fail.
   */
  readonly quietMs?: number;
}

/** Keeps requests from waiting for a server that is down, and probes the server until it works again. */
export class CircuitBreaker implements Disposable {
  readonly #options: BreakerOptions;
  readonly #outage: Outage;
  readonly #stopped = new AbortController();
  #trippedAt = 0;
  /** The pause after a successful probe. */
  #quiet = new AbortController();

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice, options.failsRequests);
  }

  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** Begins an outage. During an outage, `isUrgent` ends the pause after a successful probe, because a probe is needed. */
  trip(reason: unknown, isUrgent = false): void {
    this.#trippedAt = performance.now();
    if (isUrgent) this.#quiet.abort();
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
      let waitMs = probeEveryMs;
      let waking = signal;
      try {
        await probe();
        this.#quiet = new AbortController();
        waking = AbortSignal.any([signal, this.#quiet.signal]);
        waitMs = this.#trippedAt + quietMs - performance.now();
        if (waitMs <= 0) {
          this.#outage.end();
          return;
        }
      } catch (error) {
        this.#outage.begin(describeError(error));
      }
      await sleep(waitMs, undefined, { signal: waking, ref: false }).catch(() => undefined);
    }
  }
}
