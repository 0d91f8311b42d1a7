import { onAbort } from './abort.js';
import { type Answer, Call } from './answer.js';
import { type Clock, sleep } from './clock.js';
import type { Event, EventSelector, Int64, ListEventsFilters } from './contract.js';
import { nextQuery } from './list.js';
import type { CallOptions, Send } from './request.js';

/** Filters and paging for `list`. */
export interface EventQuery extends ListEventsFilters {
  /** Maximum number of events, 1 to 100; defaults to 100. */
  readonly limit?: number | undefined;
}

/** A page of events. There is always a next page. */
export interface EventPage {
  readonly events: readonly Event[];
  /** Id of the last event examined. Pass it as `after` to get the next page. */
  readonly next: bigint;
}

/** Options for `follow`. */
export interface FollowOptions extends CallOptions {
  /**
   * Id of the last event that you processed; 0 starts with the store's first event. By default, the loop
   * starts with the next new event.
   */
  readonly after?: Int64 | undefined;
  /** Yields only events of these types. Defaults to all types that the key may read. */
  readonly types?: readonly EventSelector[] | undefined;
  /**
   * Called with the new position after the loop has handled all events of a page. With `types`, the position
   * advances even if no event matches. Save the position, because old positions expire.
   */
  readonly onPosition?: ((position: bigint) => unknown) | undefined;
}

/** Maximum time that the service waits for an event before it returns an empty page. */
const maxWaitSeconds = 30;
/**
 * Minimum time between requests that return no events, because a service that is shutting down responds
 * immediately.
 */
const pauseMs = 1_000;

/** Changes to the store, in commit order. */
export class Events {
  readonly #send: Send;
  readonly #clock: Clock;
  /** @internal */
  constructor(send: Send, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /**
   * Gets a page of events. With `wait`, the service waits for the next event if there is none yet; `timeoutMs`
   * does not include this wait. Rejects with an EventsExpiredError if events after `after` are no longer
   * retained. Requires the `events:read` scope, and for each type the read scope of its resource.
   */
  list(query: EventQuery = {}, options?: CallOptions): Call<EventPage> {
    return Call.of(this.#page(query, options, false));
  }

  /**
   * Yields each event once and in order, until you `break` out of the loop or abort the signal. Aborting also ends
   * a wait. Waits out outages and limits of any length. Throws an EventsExpiredError if events after the position
   * are no longer retained.
   */
  follow(options: FollowOptions = {}): AsyncIterable<Event> {
    return { [Symbol.asyncIterator]: () => this.#walk(options) };
  }

  /** Returns an iterator whose `return` also aborts a request in flight. */
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
