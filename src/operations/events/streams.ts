import { ApiError } from '../../contract/api-error.ts';
import { maxStreams } from '../../contract/events.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { EventFeed, EventFilter } from './feed.ts';
import { KeyWatch, type WatchStore } from './key-watch.ts';
import { EventStream, SharedEncoder, type StreamFilter } from './stream.ts';

const commentEveryMs = 15_000;
/** How often the process checks whether keep-alive comments are due, in ms. */
const checkIntervalMs = 500;

/** The open event streams of a process. */
export class EventStreams implements Disposable {
  readonly #feed: EventFeed;
  readonly #clock: Clock;
  readonly #dependencies;
  readonly #watch: KeyWatch<EventStream>;
  readonly #byAccount = new Map<number, number>();
  #open = 0;
  /** One timer for all streams. */
  #timer: NodeJS.Timeout | undefined;
  #commentAt = 0;
  #isClosed = false;

  constructor(store: WatchStore, feed: EventFeed, clock: Clock) {
    this.#feed = feed;
    this.#clock = clock;
    this.#watch = new KeyWatch(store, clock);
    this.#dependencies = {
      feed,
      frames: new SharedEncoder(),
      ended: (stream: EventStream) => this.#leave(stream),
    };
  }

  get open(): number {
    return this.#open;
  }

  /**
   * Opens a stream that starts with the event after `after`, or with the next new event. Throws `too_many_streams`, and
   * `events_expired` like the feed.
   */
  begin(
    admission: Authenticated,
    eventFilter: EventFilter,
    after: bigint | undefined,
  ): Awaitable<EventStream> {
    const begun = after === undefined ? this.#feed.last() : andThen(this.#feed.read(after, 1), () => after);
    return andThen(begun, (from) => {
      const { caller } = admission;
      const { accountId } = caller;
      const open = this.#byAccount.get(accountId) ?? 0;
      if (open >= maxStreams) throw new ApiError('too_many_streams');
      this.#byAccount.set(accountId, open + 1);
      this.#open++;
      const stream = new EventStream(this.#dependencies, this.#filterOf(caller, eventFilter), from);
      this.#watch.enter(admission, stream);
      // Ends the stream instead of throwing, because a browser's EventSource would treat an error response as final.
      if (this.#isClosed) stream.end();
      else this.#start();
      return stream;
    });
  }

  /** Ends all streams, including any that are opened later. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const stream of this.#watch.all()) stream.end();
  }

  /** Returns a filter object shared by all streams of a key that select the same events. */
  #filterOf(caller: Caller, eventFilter: EventFilter): StreamFilter {
    const types = [...eventFilter.types].join();
    for (const { filter } of this.#watch.ofKey(caller.keyId)) if (filter.types === types) return filter;
    return { eventFilter, types, caller };
  }

  #leave(stream: EventStream): void {
    const { caller } = stream.filter;
    this.#watch.leave(caller, stream);
    const open = (this.#byAccount.get(caller.accountId) ?? 1) - 1;
    if (open === 0) this.#byAccount.delete(caller.accountId);
    else this.#byAccount.set(caller.accountId, open);
    this.#open--;
    if (this.#open > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#commentAt = this.#clock.steady() + commentEveryMs;
    this.#timer = setInterval(() => this.#check(), checkIntervalMs).unref();
  }

  #check(): void {
    const now = this.#clock.steady();
    if (now < this.#commentAt) return;
    this.#commentAt = now + commentEveryMs;
    for (const stream of this.#watch.all()) stream.comment();
  }
}
