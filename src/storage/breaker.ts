import { setTimeout as sleep } from 'node:timers/promises';

/** Tells operators, in words, that something stopped working or works again. */
export type Notice = (text: string) => void;

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
  readonly #stopped = new AbortController();
  /** Why it does not work; undefined while it does. */
  trouble: string | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Trips once; further calls until it works again change nothing. */
  trip(reason: unknown): void {
    if (this.trouble !== undefined || this.#stopped.signal.aborted) return;
    this.#tell(reason);
    void this.#recover();
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  #tell(reason: unknown): void {
    const { name, notice } = this.#options;
    const why = reason instanceof Error ? reason.message : String(reason);
    this.trouble = `degraded: ${name} does not work: ${why}`;
    notice(this.trouble);
  }

  async #recover(): Promise<void> {
    const { name, probe, probeEveryMs, notice } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await probe();
        this.trouble = undefined;
        notice(`${name} works again`);
        return;
      } catch {
        await sleep(probeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}
