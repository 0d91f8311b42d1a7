import type { StoreEvent } from '../../contract/events.ts';
import type { Clock } from '../../domain/clock.ts';
import type { EventStore } from '../../storage/storage.ts';
import { behind, withoutGap } from './gaps.ts';

/** How often the store is read while there are listeners: the longest delay of events that another process committed. */
const lookEveryMs = 100;
/** Collects the events of concurrent writes of this process in one read. */
const collectMs = 5;
const readAtOnce = 1_000;
/** How often it is checked whether the store was restored to an earlier state, in looks. */
const checkEvery = 10;

/** `gap`: events are missing behind those that were delivered, or these do not exist any more. */
export type EndOfListening = 'time' | 'closing' | 'gap';

export interface Listener {
  /** The end of its time, by the steady clock, in ms. */
  readonly until: number;
  /** Whether the service itself listens. */
  readonly isOwn?: boolean;
  /** Receives every event behind the one from which it listens, once, in order. */
  take(events: readonly StoreEvent[]): void;
  end(reason: EndOfListening): void;
}

/** The only reader of new events in a process: one read serves all waiting requests and streams. */
export class EventTail implements Disposable {
  readonly #store: EventStore;
  readonly #clock: Clock;
  /** With the event from which each one listens. */
  readonly #listeners = new Map<Listener, bigint>();
  /** The last event that was delivered. */
  #position = 0n;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #looks = 0;
  #isReading = false;
  #isClosed = false;

  constructor(store: EventStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Those of clients and operators. */
  get listeners(): number {
    return this.#listeners.keys().reduce((count, { isOwn }) => (isOwn ? count : count + 1), 0);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** False, and nothing is delivered, if events behind `after` were delivered already: read them from the store first. */
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

  /** Reads soon, because this process has committed. */
  wake(): void {
    if (this.#listeners.size === 0) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#look();
    }, collectMs);
  }

  /** Has the service itself look for what it does with events, such as sending them, although there may be no new ones. */
  nudge(): void {
    for (const listener of this.#listeners.keys()) if (listener.isOwn) listener.take([]);
  }

  /** Ends all listening, now and later. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#end('closing', () => true);
  }

  #start(after: bigint): void {
    this.#position = after;
    this.#timer = setInterval(() => {
      const now = this.#clock.steady();
      this.#end('time', ({ until }) => until <= now);
      void this.#look();
    }, lookEveryMs);
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

  async #look(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      let isMore = true;
      while (isMore && this.#listeners.size > 0) isMore = await this.#deliver();
    } catch {
      // The store has logged its outage; the next look finds what was committed since.
    } finally {
      this.#isReading = false;
    }
  }

  async #deliver(): Promise<boolean> {
    const from = this.#position;
    const found = await this.#store.list(from, readAtOnce);
    // During the read, the last listener may have left, and another one begun at another event.
    if (this.#position !== from) return true;
    const events = withoutGap(found, from);
    const last = events.at(-1);
    if (last !== undefined) {
      this.#position = last.id;
      for (const [listener, after] of this.#listeners) {
        // A listener that read the store after the last look is ahead of the tail.
        const unseen = after <= from ? events : behind(events, after);
        if (unseen.length > 0) listener.take(unseen);
      }
    }
    if (events.length < found.length || (await this.#isRestored())) this.#end('gap', () => true);
    return found.length === readAtOnce;
  }

  /** Whether events that were delivered do not exist: the store was restored to an earlier state. */
  async #isRestored(): Promise<boolean> {
    if (++this.#looks % checkEvery !== 0) return false;
    const position = this.#position;
    const { last } = await this.#store.bounds();
    return last < position && position === this.#position;
  }
}
