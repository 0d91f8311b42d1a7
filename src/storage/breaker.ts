import { setTimeout as sleep } from 'node:timers/promises';
import { type Notice, Outage } from './outage.ts';

export type { Notice } from './outage.ts';

export interface BreakerOptions {
  /** What is watched, as operators know it. */
  readonly name: string;
  /** Resolves when it works again. */
  readonly probe: () => Promise<void>;
  readonly probeEveryMs: number;
  readonly notice: Notice;
}

/** Remembers that a server does not work, so that nothing waits for it, and tries it until it does. */
export class Breaker implements Disposable {
  readonly #options: BreakerOptions;
  readonly #outage: Outage;
  readonly #stopped = new AbortController();

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice);
  }

  /** Why it does not work; undefined while it does. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  /** Trips once; further calls until it works again change nothing. */
  trip(reason: unknown): void {
    if (this.trouble !== undefined || this.#stopped.signal.aborted) return;
    this.#outage.begin(reasonOf(reason));
    void this.#recover();
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
        this.#outage.begin(reasonOf(error));
        await sleep(probeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
