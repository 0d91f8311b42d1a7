import type { EventRepresentation } from '../../contract/representations.ts';
import type { Clock } from '../../domain/clock.ts';
import { type BeginRun, unobserved } from '../../domain/task-run.ts';
import type { EventStore } from '../../storage/storage.ts';

/** Interval between reads while there are listeners, and therefore the maximum delay of events from other processes. */
const pollIntervalMs = 100;
/** Delay of a read after a write, so that one read collects the events of concurrent writes in this process. */
const collectMs = 5;
const readBatch = 1_000;
/** Number of reads between checks for a restored store and for skipped ids. */
const checkEvery = 10;

/** `gap`: events after the last delivered event are missing, or delivered events no longer exist. */
export type EndReason = 'time' | 'closing' | 'gap';

export interface Listener {
  /** Deadline in ms, on the monotonic clock. */
  readonly until: number;
  /** Whether the listener belongs to the service itself rather than a client or an operator. */
  readonly isOwn?: boolean;
  /** Receives every event after the listener's position, in order and exactly once. */
  receive(events: readonly EventRepresentation[]): void;
  end(reason: EndReason): void;
}

/** The only reader of new events in a process: a single read serves all waiting requests and streams. */
export class EventTail implements Disposable {
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #beginRead: BeginRun;
  /** Position of each listener. */
  readonly #listeners = new Map<Listener, bigint>();
  /** Id of the last delivered event. */
  #position = 0n;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #polls = 0;
  #isReading = false;
  #isClosed = false;

  constructor(store: EventStore, clock: Clock, beginRead = unobserved) {
    this.#store = store;
    this.#clock = clock;
    this.#beginRead = beginRead;
  }

  /** Number of listeners that belong to clients and operators. */
  get listeners(): number {
    return this.#listeners.keys().reduce((count, { isOwn }) => (isOwn ? count : count + 1), 0);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Adds a listener. Returns false if events after `after` were already delivered; the caller must read them from the
   * store first.
   */
  listen(after: bigint, listener: Listener): boolean {
    if (this.#isClosed) {
      listener.end('closing');
      return true;
    }
    if (this.#listeners.size === 0) this.#start(after);
    if (after < this.#position) return false;
    this.#listeners.set(listener, after);
    return true;
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#stop();
  }

  /** Schedules a read, because this process has committed a change. */
  wake(): void {
    if (this.#listeners.size === 0) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#poll();
    }, collectMs);
  }

  /** Wakes the service's listener even if there are no new events. */
  nudge(): void {
    for (const listener of this.#listeners.keys()) if (listener.isOwn) listener.receive([]);
  }

  /** Ends all listeners, including any that are added later. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#end('closing', () => true);
  }

  #start(after: bigint): void {
    this.#position = after;
    this.#timer = setInterval(() => {
      const now = this.#clock.steady();
      this.#end('time', ({ until }) => until <= now);
      void this.#poll();
    }, pollIntervalMs);
  }

  #stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#beginRead().notNeeded();
  }

  #end(reason: EndReason, isDue: (listener: Listener) => boolean): void {
    for (const listener of this.#listeners.keys()) {
      if (!isDue(listener)) continue;
      this.leave(listener);
      listener.end(reason);
    }
  }

  async #poll(): Promise<void> {
    if (this.#isReading || this.#listeners.size === 0) return;
    this.#isReading = true;
    const run = this.#beginRead();
    try {
      let isMore = true;
      while (isMore && this.#listeners.size > 0) isMore = await this.#deliver();
      run.succeeded();
    } catch (error) {
      // The next read finds all events committed since the last successful read.
      run.failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #deliver(): Promise<boolean> {
    const from = this.#position;
    const found = await this.#store.list(from, readBatch);
    // The last listener may have left during the read, and a new one may have joined at a different position.
    if (this.#position !== from) return true;
    const events = takeContiguous(found, from);
    const last = events.at(-1);
    if (last !== undefined) {
      this.#position = last.id;
      for (const [listener, after] of this.#listeners) {
        // A listener that read the store after the last poll may be ahead of the tail.
        const unseen = after <= from ? events : eventsAfter(events, after);
        if (unseen.length > 0) listener.receive(unseen);
      }
    }
    if (events.length < found.length || (await this.#hasGap())) this.#end('gap', () => true);
    return found.length === readBatch;
  }

  /**
   * Whether delivered events no longer exist because the store was restored to an earlier state, or ids were skipped
   * after the last delivered event.
   */
  async #hasGap(): Promise<boolean> {
    if (++this.#polls % checkEvery !== 0) return false;
    const position = this.#position;
    const { last } = await this.#store.bounds();
    const [next] = last > position ? await this.#store.list(position, 1) : [];
    const isMissing = last < position || (last > position && next?.id !== position + 1n);
    return isMissing && position === this.#position;
  }
}

/**
 * The events directly after `after`, up to the first gap. Retained events have contiguous ids, so a gap means that a
 * reader would miss events by continuing.
 */
export function takeContiguous(
  events: readonly EventRepresentation[],
  after: bigint,
): readonly EventRepresentation[] {
  const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index + 1));
  return gap === -1 ? events : events.slice(0, gap);
}

/** The events after `after`, from a list of contiguous events. */
function eventsAfter(events: readonly EventRepresentation[], after: bigint): readonly EventRepresentation[] {
  const first = events[0]?.id ?? 0n;
  return after < first ? events : events.slice(Number(after - first) + 1);
}
