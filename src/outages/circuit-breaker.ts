import { setTimeout as sleep } from 'node:timers/promises';
import type { FailsRequests } from '../domain/outage-notice.ts';
import { describeError, type Notify, Outage } from './outage.ts';

interface BreakerOptions {
  readonly name: string;
  readonly probe: () => Promise<void>;
  readonly probeEveryMs: number;
  readonly notice: Notify;
  readonly failsRequests?: FailsRequests;
  /**
   * Minimum time between the last failed request and the end of the outage, in ms. Probes may succeed although some
   * requests fail. The outage is reported to have ended with that request.
   */
  readonly quietMs?: number;
}

/** Keeps requests from waiting for a server that is down, and probes the server until it works again. */
export class CircuitBreaker implements Disposable {
  readonly #options: BreakerOptions;
  readonly #outage: Outage;
  readonly #stopped = new AbortController();
  #trippedAt = 0;
  /** The pause after a successful probe; undefined while the server is probed. */
  #quiet: AbortController | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice, options.failsRequests);
  }

  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /**
   * Begins an outage. During the pause after a successful probe, `isUrgent` ends the pause after `probeEveryMs`, because a
   * probe is needed; other failures may change the reason for the outage, because probes do not find it.
   */
  trip(reason: unknown, isUrgent = false): void {
    if (this.#stopped.signal.aborted) return;
    this.#trippedAt = performance.now();
    const hasBegun = this.trouble !== undefined;
    if (hasBegun && isUrgent) this.#quiet?.abort();
    else if (!hasBegun || this.#quiet !== undefined) this.#outage.begin(describeError(reason));
    if (!hasBegun) void this.#recover();
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
    const pause = (ms: number, until = signal) =>
      sleep(ms, undefined, { signal: until, ref: false }).catch(() => undefined);
    let workingSince: number | undefined;
    while (!signal.aborted) {
      let quietLeftMs = 0;
      this.#quiet = undefined;
      try {
        await probe();
        workingSince ??= performance.now();
        quietLeftMs = this.#trippedAt + quietMs - performance.now();
        if (quietLeftMs <= 0) {
          this.#outage.end(undefined, Math.max(workingSince, this.#trippedAt));
          return;
        }
        this.#quiet = new AbortController();
      } catch (error) {
        workingSince = undefined;
        this.#outage.begin(describeError(error));
      }
      await pause(probeEveryMs);
      if (this.#quiet !== undefined)
        await pause(Math.max(0, quietLeftMs - probeEveryMs), AbortSignal.any([signal, this.#quiet.signal]));
    }
  }
}
