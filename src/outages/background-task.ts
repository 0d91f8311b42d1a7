import type { Clock } from '../domain/clock.ts';
import type { TaskRun } from '../domain/task-run.ts';
import type { Trouble } from '../domain/troubles.ts';
import { describeError, type Notify, Outage } from './outage.ts';

interface BackgroundTaskOptions {
  /** Name in the log. */
  readonly name: string;
  /** Reported while the task fails. */
  readonly trouble: Trouble;
  /** How long the task must have failed before this is reported, in ms. */
  readonly afterMs: number;
  /** Time without failures after which a task that finds nothing to do counts as recovered, in ms. */
  readonly quietMs: number;
  readonly clock: Pick<Clock, 'steady'>;
  readonly notice: Notify;
  /** Whether the store reports no failure that explains those of the task. */
  readonly isStoreUsable: () => boolean;
}

/** Number of failures in a row after which a task is reported. Fewer may be separate short outages of the store. */
const minFailures = 5;

/** Reports a task that fails repeatedly in the background, where it fails no request that would be noticed. */
export class BackgroundTask {
  readonly #options: BackgroundTaskOptions;
  readonly #outage: Outage;
  /** Number of failures in a row, and the monotonic times of the first and the last of them, in ms. */
  #failing: { count: number; since: number; lastAt: number } | undefined;

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
    this.#outage = new Outage(options.name, options.notice);
  }

  get troubles(): Trouble[] {
    return this.#outage.trouble === undefined ? [] : [this.#options.trouble];
  }

  readonly begin = (): TaskRun => {
    // The store is examined before the run, because an error of the run can begin a short outage of the store. It is not
    // examined while the task works, because tasks may run thousands of times per second.
    const isExplained = this.#failing !== undefined && !this.#options.isStoreUsable();
    return {
      succeeded: (hasWorked = true) => this.#succeed(hasWorked),
      notNeeded: () => this.#end('no longer needed'),
      failed: (error) => this.#fail(error, isExplained),
    };
  };

  #succeed(hasWorked: boolean): void {
    if (this.#failing === undefined) return;
    const { clock, quietMs } = this.#options;
    if (!hasWorked && clock.steady() - this.#failing.lastAt < quietMs) return;
    this.#end();
  }

  #end(how?: string): void {
    this.#failing = undefined;
    this.#outage.end(how);
  }

  #fail(error: unknown, isExplained: boolean): void {
    const { clock, afterMs, trouble } = this.#options;
    const lastAt = clock.steady();
    const { count, since } = (isExplained ? undefined : this.#failing) ?? { count: 0, since: lastAt };
    this.#failing = { count: count + 1, since, lastAt };
    if (count + 1 < minFailures || lastAt - since < afterMs) return;
    const [heading] = trouble.split('.');
    // Unexpected errors of the writer thread contain a stack trace.
    const [reason] = describeError(error).split('\n');
    this.#outage.begin(`${reason} (see "${heading}" in docs/troubleshooting.md)`);
  }
}
