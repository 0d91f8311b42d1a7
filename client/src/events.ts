import { onAbort } from './abort.js';
import { type Answer, Call } from './answer.js';
import { type Clock, sleep } from './clock.js';
import type { Event, EventSelector, Int64, ListEventsFilters } from './contract.js';
import { nextQuery } from './list.js';
import type { CallOptions, Send } from './request.js';

/** Which events to list. */
export interface EventQuery extends ListEventsFilters {
  /** Most events, 1 to 100; 100 when omitted. */
  readonly limit?: number | undefined;
}

/** A page of the feed, which has no last page. */
export interface EventPage {
  readonly events: readonly Event[];
  /** The last event that was examined: `after` of the page that follows. */
  readonly next: bigint;
}

/** Which events to follow. */
export interface FollowOptions extends CallOptions {
  /**
   * The last event that you have: the loop begins behind it. 0 begins with the first event that the store ever had. Defaults to
   * the newest event, so that the loop begins with the next one.
   */
  readonly after?: Int64 | undefined;
  /** Only events of these types; by default all that the key may read. */
  readonly types?: readonly EventSelector[] | undefined;
  /**
   * Receives the position after each page, when all of its events were handled. With `types`, it moves on while there is no event
   * for you: save it, or a position that rests for long expires.
   */
  readonly onPosition?: ((position: bigint) => unknown) | undefined;
}

/** The longest that the service delays an empty page. */
const longestWaitSeconds = 30;
/** The shortest time between requests that bring nothing: a service that shuts down responds at once. */
const pauseMs = 1_000;

/** The changes of the store, in the order of their commits. */
export class Events {
  readonly #send: Send;
  readonly #clock: Clock;
  /** @internal */
  constructor(send: Send, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /**
   * Gets a page of events. With `wait`, an empty page is delayed until there is an event; `timeoutMs` begins after that time.
   * Rejects with EventsExpiredError if events behind `after` are not retained any more. Needs the scope `events:read`, and for each
   * type the scope of its resource.
   */
  list(query: EventQuery = {}, options?: CallOptions): Call<EventPage> {
    return Call.of(this.#page(query, options, false));
  }

  /**
   * Follows the events, each once and in order, for ever: `break` or the signal ends the loop, also while it waits. Outages and limits
   * are waited out however long they last. Throws EventsExpiredError if events are missing behind the position.
   */
  follow(options: FollowOptions = {}): AsyncIterable<Event> {
    return { [Symbol.asyncIterator]: () => this.#walk(options) };
  }

  /** An iterator whose `return` also ends a request in flight. */
  #walk(options: FollowOptions): AsyncIterator<Event, void, undefined> {
    const { signal } = options;
    const ending = new AbortController();
    const stop = onAbort(signal, () => ending.abort(signal?.reason));
    if (signal?.aborted) ending.abort(signal.reason);
    const events = this.#events({ ...options, signal: ending.signal });
    let isOver = false;
    const end = () => {
      stop();
      isOver = true;
      ending.abort();
      return events.return();
    };
    const next = () =>
      events.next().catch((error: unknown) => {
        if (isOver) return end();
        stop();
        throw error;
      });
    return { next, return: end };
  }

  async *#events(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
    const { after, types: type, onPosition, ...callOptions } = options;
    const page = async (query: EventQuery) => (await this.#page({ ...query, type }, callOptions, true)).data;
    let position = after ?? (await page({ order: 'desc', limit: 1 })).next;
    for (;;) {
      const askedAt = this.#clock.now();
      const { events, next } = await page({ after: position, wait: longestWaitSeconds });
      yield* events;
      if (BigInt(position) !== next) await onPosition?.(next);
      else await sleep(this.#clock, Math.max(0, pauseMs - this.#clock.now() + askedAt), options.signal);
      position = next;
    }
  }

  async #page(
    query: EventQuery,
    options: CallOptions | undefined,
    isPatient: boolean,
  ): Promise<Answer<EventPage>> {
    const answer = await this.#send<readonly Event[]>({
      method: 'GET',
      collection: 'events',
      query: { ...query, limit: query.limit ?? 100 },
      isList: true,
      delaySeconds: query.wait ?? 0,
      isPatient,
      options,
    });
    const next = BigInt(nextQuery(answer, 'after')?.after ?? 0);
    return { ...answer, data: { events: answer.data, next } };
  }
}
