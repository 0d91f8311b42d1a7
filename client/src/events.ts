import { onAbort } from './abort.js';
import { type Answer, Call } from './answer.js';
import { type Clock, sleep } from './clock.js';
import type { Event, EventSelector, Int64, ListEventsFilters } from './contract.js';
import { nextQuery } from './list.js';
import type { CallOptions, Send } from './request.js';

/** Which events to list. */
export interface EventQuery extends ListEventsFilters {
  /** Maximum number of events, 1 to 100; defaults to 100. */
  readonly limit?: number | undefined;
}

/** A page of the feed. There is always a next one. */
export interface EventPage {
  readonly events: readonly Event[];
  /** The last examined event: `after` of the next page. */
  readonly next: bigint;
}

/** Which events to follow. */
export interface FollowOptions extends CallOptions {
  /**
   * The last event that you have; the loop begins after it. 0 begins with the first event of the store.
   * Defaults to the newest event, so that the loop begins with the next one.
   */
  readonly after?: Int64 | undefined;
  /** Only events of these types; defaults to all that the key may read. */
  readonly types?: readonly EventSelector[] | undefined;
  /**
   * Receives the position after each page, when all of its events were handled. With `types`, the position
   * advances even without a matching event: save it, because an old position expires.
   */
  readonly onPosition?: ((position: bigint) => unknown) | undefined;
}

/** Maximum delay of an empty page by the service. */
const maxWaitSeconds = 30;
/**
 * Minimum time between requests with empty results, because a service that shuts down responds immediately.
 */
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
   * Gets a page of events. With `wait`, an empty page is delayed until there is an event; `timeoutMs` begins
   * after that time. Rejects with EventsExpiredError if events after `after` are no longer retained. Needs
   * the scope `events:read`, and for each type the scope of its resource.
   */
  list(query: EventQuery = {}, options?: CallOptions): Call<EventPage> {
    return Call.of(this.#page(query, options, false));
  }

  /**
   * Yields each event once and in order, until `break` or the signal ends the loop, even while it waits.
   * Waits out outages and limits of any length. Throws EventsExpiredError if events after the position are
   * missing.
   */
  follow(options: FollowOptions = {}): AsyncIterable<Event> {
    return { [Symbol.asyncIterator]: () => this.#walk(options) };
  }

  /** An iterator whose `return` also aborts a request in flight. */
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
      const { events, next } = await page({ after: position, wait: maxWaitSeconds });
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
