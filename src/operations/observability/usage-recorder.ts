import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, dayMs, minuteMs } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';
import type { UsageBounds, UsageReport } from '../../storage/admin.ts';
import type { Instance } from '../../tables/usage.ts';
import { keptForMs } from '../changes/once.ts';
import { type EventRemoval, removeEvents } from '../events/retention.ts';
import type { Store } from '../units.ts';
import type { TrafficCounter } from './traffic-counter.ts';

/** How often usage is recorded: so much may be missing after a crash. */
const recordEveryMs = 10_000;
/** The first sign of life waits until the first requests are answered. */
const firstRecordMs = 1_000;
/** How long the end waits for the last record; a slower store has other problems. */
const lastRecordMs = 400;
const processBytes = 12;
/** Rows of each kind in a write, so that a client's change behind it does not wait long. */
const rowsPerWrite = 250;
const pruneEveryMs = 600_000;
/** How long deliveries are retained after they finished. */
const deliveriesKeptForMs = 7 * dayMs;

/** The last sign of life of an instance that was stopped in good order. */
export const stoppedAt = 0;

interface UsageRecorderOptions {
  readonly store: Pick<Store, 'write' | 'health'> & EventRemoval;
  readonly counter: TrafficCounter;
  readonly clock: Clock;
  /** Names this process in its reports. */
  readonly randomBytes: RandomBytes;
  readonly instance: Omit<Instance, 'seenAt'>;
  /** Whether this process also removes what is too old, kept answers included: one of several is enough. */
  readonly prunes: boolean;
  /** Whether events are recorded, and how long they are retained, in ms. */
  readonly events: { readonly areRecorded: boolean; readonly keepMs: number };
  /** Logs that usage is lost. The store logs that it cannot be written. */
  readonly notice: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

function usageBounds(now: number): UsageBounds {
  return {
    minutes: now - 2 * dayMs,
    hours: now - 7 * dayMs,
    days: now - 400 * dayMs,
    reports: now - 7 * dayMs,
    instances: now - dayMs,
  };
}

/**
 * Records usage every ten seconds, earlier when there is much, and at the end. What cannot be written stays counted. A report
 * is sent unchanged, under the same number, until it is written: a commit without an answer may have succeeded.
 */
export class UsageRecorder implements AsyncDisposable {
  readonly #options: UsageRecorderOptions;
  #timer: NodeJS.Timeout;
  #recording: Promise<void> | undefined;
  #isFailing = false;
  readonly #process: string;
  #number = 0;
  #pending: Omit<UsageReport, 'instance'> | undefined;
  readonly #ending = new AbortController();
  #nextPruneAt: number;

  constructor(options: UsageRecorderOptions) {
    this.#options = options;
    this.#process = Buffer.from(options.randomBytes(processBytes)).toString('base64url');
    options.counter.keys.whenMany = () => void this.record();
    // Not while the service starts, with every other instance of a cluster.
    this.#nextPruneAt = options.clock.steady() + minuteMs;
    this.#timer = this.#after(firstRecordMs);
  }

  /** Records all that is counted so far. Never rejects: what fails is tried again. */
  record(): Promise<void> {
    this.#recording ??= this.#recordAll().finally(() => {
      this.#recording = undefined;
    });
    return this.#recording;
  }

  /** Records the last of it, and that this was a stop in good order; what cannot be written now is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    const last = (this.#recording ?? Promise.resolve()).then(() => this.record());
    await Promise.race([last, sleep(lastRecordMs, undefined, { ref: false })]);
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.#tick(), ms).unref();
  }

  async #tick(): Promise<void> {
    await this.record();
    if (this.#options.prunes && !this.#isFailing) await this.#prune();
    if (!this.#ending.signal.aborted) this.#timer = this.#after(recordEveryMs);
  }

  async #recordAll(): Promise<void> {
    const { store, counter, notice } = this.#options;
    const lost = counter.keys.takeLost();
    if (lost > 0) notice('requests are missing from the usage of keys', { requests: lost });
    try {
      // The outage of a store that no request can use is logged where it was noticed; it is not written to.
      store.health();
      // What could not be written before comes first, and then what was counted since.
      if (this.#hasMore()) await this.#recordGroups();
      await this.#recordGroups();
      this.#isFailing = false;
    } catch {
      this.#isFailing = true;
    }
  }

  #hasMore(): boolean {
    const { counter } = this.#options;
    return this.#pending !== undefined || counter.hasMinutes || counter.keys.hasRows;
  }

  /** Writes groups of rows: at least one, for the sign of life. What is counted during the write is for the next time. */
  async #recordGroups(): Promise<void> {
    do await this.#recordGroup();
    while (this.#hasMore());
  }

  async #recordGroup(): Promise<void> {
    const { store, counter, clock, instance } = this.#options;
    this.#pending ??= this.#nextReport();
    const { minutes, keys } = this.#pending;
    const seenAt = this.#ending.signal.aborted ? stoppedAt : clock.now();
    await store.write('recordUsage', { ...this.#pending, instance: { ...instance, seenAt } });
    this.#pending = undefined;
    counter.dropMinutes(minutes.length);
    counter.keys.drop(keys);
  }

  #nextReport(): Omit<UsageReport, 'instance'> {
    const { counter, clock } = this.#options;
    return {
      minutes: counter.peekMinutes(rowsPerWrite),
      keys: counter.keys.peek(rowsPerWrite),
      number: { process: this.#process, number: ++this.#number, reportedAt: clock.now() },
    };
  }

  /** Removes some expired rows, and continues the next time if there are more. */
  async #prune(): Promise<void> {
    const { store, clock, events } = this.#options;
    if (clock.steady() < this.#nextPruneAt) return;
    try {
      const now = clock.now();
      const mayBeMore = [
        await store.write('pruneUsage', usageBounds(now)),
        await store.write('pruneAnswers', now - keptForMs),
        await store.write('pruneDeliveries', now - deliveriesKeptForMs),
        await removeEvents(
          store,
          events.areRecorded ? now - events.keepMs : Number.MAX_SAFE_INTEGER,
          this.#ending.signal,
        ),
      ];
      if (!mayBeMore.includes(true)) this.#nextPruneAt = clock.steady() + pruneEveryMs;
    } catch {
      // Expired rows can wait; the store has logged its outage.
    }
  }
}
