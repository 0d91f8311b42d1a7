import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';
import { type BeginRun, unobserved } from '../../domain/task-run.ts';
import type { UsageReport } from '../../storage/admin.ts';
import type { Instance } from '../../tables/usage.ts';
import { type EventRetention, Sweeper, type SweeperStore } from '../sweeper.ts';
import type { Store } from '../units.ts';
import type { TrafficCounter } from './traffic-counter.ts';

/** Delay of the first record, so that the first requests are not slowed down. */
const firstRecordMs = 1_000;
/** Maximum wait for the last record during shutdown. */
const lastRecordMs = 400;
const processBytes = 12;
/**
 * Maximum rows per write, so that a client's change does not have to wait long for the write to finish. Requests and
 * latencies of a minute are added to two rows each.
 */
const perWrite = { minutes: 100, keyRows: 500 } as const;

/** Replaces the time of the last heartbeat when an instance stops cleanly. */
export const stoppedAt = 0;

interface UsageRecorderOptions {
  readonly store: Pick<Store, 'health'> & SweeperStore;
  readonly counter: TrafficCounter;
  readonly clock: Clock;
  /** Identifies this process in its reports. */
  readonly randomBytes: RandomBytes;
  readonly instance: Omit<Instance, 'seenAt'>;
  /** Whether this process also removes expired and deleted rows. One process per instance is enough. */
  readonly prunes: boolean;
  readonly events: EventRetention;
  /** Interval between usage records. A crash may lose the usage of this period. Defaults to 10,000. */
  readonly recordEveryMs?: number | undefined;
  /** Called before each recording. */
  readonly begin?: BeginRun;
  readonly beginSweep?: BeginRun;
  /** Logs lost usage. */
  readonly notice: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/**
 * Records usage every ten seconds, more often under load, and at shutdown. Counts that could not be written are kept. A
 * report is resent unchanged, with the same number, until it is written, because a commit whose response was lost may
 * have succeeded.
 */
export class UsageRecorder implements AsyncDisposable {
  readonly #options: UsageRecorderOptions;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout;
  #recording: Promise<void> | undefined;
  #isFailing = false;
  readonly #process: string;
  #number = 0;
  #pending: Omit<UsageReport, 'instance'> | undefined;
  readonly #stopController = new AbortController();
  readonly #sweeper: Sweeper;

  constructor(options: UsageRecorderOptions) {
    this.#options = options;
    this.#process = Buffer.from(options.randomBytes(processBytes)).toString('base64url');
    options.counter.keys.whenMany = () => void this.record();
    this.#sweeper = new Sweeper(options, this.#stopController.signal);
    this.#everyMs = options.recordEveryMs ?? 10_000;
    this.#timer = this.#after(Math.min(firstRecordMs, this.#everyMs));
  }

  /** Records the counts so far, or joins a recording already in progress. Never rejects; failures are retried. */
  record(): Promise<void> {
    this.#recording ??= this.#recordRows().finally(() => {
      this.#recording = undefined;
    });
    return this.#recording;
  }

  async recordAll(): Promise<void> {
    await this.#recording;
    await this.record();
  }

  /** Records the last counts and the clean shutdown. Counts that cannot be written at shutdown are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopController.abort();
    clearTimeout(this.#timer);
    const ended = Promise.all([this.recordAll(), this.#sweeper.idle()]);
    await Promise.race([ended, sleep(lastRecordMs, undefined, { ref: false })]);
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.#tick(), ms).unref();
  }

  async #tick(): Promise<void> {
    await this.record();
    if (this.#options.prunes && !this.#isFailing) this.#sweeper.start();
    if (!this.#stopController.signal.aborted) this.#timer = this.#after(this.#everyMs);
  }

  async #recordRows(): Promise<void> {
    const { store, counter, notice, begin = unobserved } = this.#options;
    const lostRequests = counter.keys.takeLost();
    if (lostRequests > 0) notice('requests are missing from key usage', { requests: lostRequests });
    const run = begin();
    try {
      // Throws during an outage, which the store has already logged.
      store.health();
      // Writes the pending report before newer counts.
      if (this.#hasMore()) await this.#recordGroups();
      await this.#recordGroups();
      this.#isFailing = false;
      run.succeeded();
    } catch (error) {
      this.#isFailing = true;
      run.failed(error);
    }
  }

  #hasMore(): boolean {
    const { counter } = this.#options;
    return this.#pending !== undefined || counter.hasMinutes || counter.keys.hasRows;
  }

  /**
   * Writes groups of rows. At least one group is written, because it contains the heartbeat. Requests counted during
   * the write are recorded next time.
   */
  async #recordGroups(): Promise<void> {
    do await this.#recordGroup();
    while (this.#hasMore());
  }

  async #recordGroup(): Promise<void> {
    const { store, counter, clock, instance } = this.#options;
    const pending = this.#pending ?? this.#nextReport();
    this.#pending = pending;
    const seenAt = this.#stopController.signal.aborted ? stoppedAt : clock.now();
    await store.write('recordUsage', { ...pending, instance: { ...instance, seenAt } });
    this.#pending = undefined;
    counter.dropMinutes(pending);
    counter.keys.drop(pending.keys);
  }

  #nextReport(): Omit<UsageReport, 'instance'> {
    const { counter, clock } = this.#options;
    return {
      ...counter.peekMinutes(perWrite.minutes),
      keys: counter.keys.peek(perWrite.keyRows),
      number: { process: this.#process, number: ++this.#number, reportedAt: clock.now() },
    };
  }
}
