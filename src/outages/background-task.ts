import type { Attempt } from '../domain/attempt.ts';
import type { Clock } from '../domain/clock.ts';
import type { Trouble } from '../domain/troubles.ts';
import { describeError, type Notify, Outage } from './outage.ts';

interface BackgroundTaskOptions {
  /** Name in the log. */
  readonly name: string;
  /** Reported while the task fails. */
  readonly trouble: Trouble;
  /** How long the task must have failed before this is reported, in ms. */
  readonly afterMs: number;
  readonly clock: Pick<Clock, 'steady'>;
  readonly notice: Notify;
  /** Whether the store reports no failure that explains those of the task. */
  readonly isStoreUsable: () => boolean;
}

/** Reports a task that fails repeatedly in the background, where it fails no request that would be noticed. */
export class BackgroundTask {
  readonly #options: BackgroundTaskOptions;
  readonly #outage: Outage;
  /** Monotonic time of the first failure since the last success, in ms. */
  #failingSince: number | undefined;

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice);
  }

  get troubles(): Trouble[] {
    return this.#outage.trouble === undefined ? [] : [this.#options.trouble];
  }

  readonly begin = (): Attempt => {
    // The store is examined before the run, because an error of the run can begin a short outage of the store. It is not
    // examined while the task works, because tasks may run thousands of times per second.
    const isExplained = this.#failingSince !== undefined && !this.#options.isStoreUsable();
    return {
      succeeded: () => {
        this.#failingSince = undefined;
        this.#outage.end();
      },
      failed: (error) => this.#fail(error, isExplained),
    };
  };

  #fail(error: unknown, isExplained: boolean): void {
    const { clock, afterMs, trouble } = this.#options;
    const now = clock.steady();
    if (isExplained) this.#failingSince = now;
    this.#failingSince ??= now;
    if (now - this.#failingSince < afterMs) return;
    const [heading] = trouble.split('.');
    // Unexpected errors of the writer thread contain a stack trace.
    const [reason] = describeError(error).split('\n');
    this.#outage.begin(`${reason} (see "${heading}" in docs/troubleshooting.md)`);
  }
}
