import type { StoreEvent } from '../../contract/events.ts';
import type { Clock } from '../../domain/clock.ts';
import type { EventStore } from '../../storage/storage.ts';
import { behind, withoutGap } from './gaps.ts';

/** Interval of reads while there are listeners, which is the maximum delay of events from other processes. */
const pollIntervalMs = 100;
/** Collects the events of concurrent writes of this process in one read. */
const collectMs = 5;
const readBatch = 1_000;
/** Number of reads between checks for a restored store. */
const checkEvery = 10;

/** `gap`: events after the delivered ones are missing, or the delivered ones no longer exist. */
export type EndOfListening = 'time' | 'closing' | 'gap';

export interface Listener {
  /** Deadline by the steady clock, in ms. */
  readonly until: number;
  /** Whether the listener is part of the service. */
  readonly isOwn?: boolean;
  /** Receives every event after its position, once and in order. */
  take(events: readonly StoreEvent[]): void;
  end(reason: EndOfListening): void;
}

/** The only reader of new events in a process: one read serves all waiting requests and streams. */
export class EventTail implements Disposable {
  readonly #store: EventStore;
  readonly #clock: Clock;
  /** Position of each listener. */
  readonly #listeners = new Map<Listener, bigint>();
  /** Id of the last delivered event. */
  #position = 0n;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #polls = 0;
  #isReading = false;
  #isClosed = false;

  constructor(store: EventStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Number of listeners of clients and operators. */
  get listeners(): number {
    return this.#listeners.keys().reduce((count, { isOwn }) => (isOwn ? count : count + 1), 0);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** False if events after `after` were already delivered, which must then be read from the store first. */
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

  /** Schedules a read, because this process has committed. */
  wake(): void {
    if (this.#listeners.size === 0) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#poll();
    }, collectMs);
  }

  /** Runs the listener of the service even if there are no new events. */
  nudge(): void {
    for (const listener of this.#listeners.keys()) if (listener.isOwn) listener.take([]);
  }

  /** Ends all listeners, including later ones. */
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
  }

  #end(reason: EndOfListening, isDue: (listener: Listener) => boolean): void {
    for (const listener of this.#listeners.keys()) {
      if (!isDue(listener)) continue;
      this.leave(listener);
      listener.end(reason);
    }
  }

  async #poll(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      let isMore = true;
      while (isMore && this.#listeners.size > 0) isMore = await this.#deliver();
    } catch {
      // The store has logged its outage. The next check finds events committed since.
    } finally {
      this.#isReading = false;
    }
  }

  async #deliver(): Promise<boolean> {
    const from = this.#position;
    const found = await this.#store.list(from, readBatch);
    // During the read, the last listener may have left, and another one started at another event.
    if (this.#position !== from) return true;
    const events = withoutGap(found, from);
    const last = events.at(-1);
    if (last !== undefined) {
      this.#position = last.id;
      for (const [listener, after] of this.#listeners) {
        // A listener that read the store after the last poll is ahead of the tail.
        const unseen = after <= from ? events : behind(events, after);
        if (unseen.length > 0) listener.take(unseen);
      }
    }
    if (events.length < found.length || (await this.#isRestored())) this.#end('gap', () => true);
    return found.length === readBatch;
  }

  /** Whether delivered events no longer exist, because the store was restored to an earlier state. */
  async #isRestored(): Promise<boolean> {
    if (++this.#polls % checkEvery !== 0) return false;
    const position = this.#position;
    const { last } = await this.#store.bounds();
    return last < position && position === this.#position;
  }
}
