import { onAbort } from './abort.js';
import { type Answer, Call } from './answer.js';
import { type Clock, sleep } from './clock.js';
import type { Event, EventSelector, Int64, ListEventsFilters } from './contract.js';
import { ServerError } from './errors.js';
import { parseJson } from './json.js';
import { nextQuery } from './list.js';
import type { CallOptions, Send } from './request.js';
import { type Message, readMessages } from './stream.js';

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

/** Options for `stream`. */
export interface StreamOptions extends CallOptions {
  /**
   * Id of the last event that you processed; 0 starts with the store's first event. By default, the loop
   * starts with the next new event.
   */
  readonly after?: Int64 | undefined;
  /** Yields only events of these types. Defaults to all types that the key may read. */
  readonly types?: readonly EventSelector[] | undefined;
}

/** Options for `follow`. */
export interface FollowOptions extends StreamOptions {
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
/** Minimum time before a stream is opened again, as in the field `retry` of the service. Up to twice as long with jitter. */
const reopenMs = 2_000;

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
    return { [Symbol.asyncIterator]: () => this.#walk(options, (inner) => this.#events(inner)) };
  }

  /**
   * Yields the same events as `follow`, from a single response that stays open instead of a request for each wait. Opens
   * it again if it ends, breaks or receives nothing for 45 s, and resumes after the last event.
   */
  stream(options: StreamOptions = {}): AsyncIterable<Event> {
    return { [Symbol.asyncIterator]: () => this.#walk(options, (inner) => this.#streamed(inner)) };
  }

  /** Returns an iterator whose `return` also aborts a request in flight. */
  #walk<Options extends StreamOptions>(
    options: Options,
    eventsOf: (options: Options) => AsyncGenerator<Event, void, undefined>,
  ): AsyncIterator<Event, void, undefined> {
    const { signal } = options;
    const abortController = new AbortController();
    const stop = onAbort(signal, () => abortController.abort(signal?.reason));
    if (signal?.aborted) abortController.abort(signal.reason);
    const events = eventsOf({ ...options, signal: abortController.signal });
    let isOver = false;
    const end = () => {
      stop();
      isOver = true;
      abortController.abort();
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

  async *#streamed({
    after,
    types: type,
    ...options
  }: StreamOptions): AsyncGenerator<Event, void, undefined> {
    const newest = async () => (await this.#page({ order: 'desc', limit: 1 }, options, true)).data.next;
    let position = BigInt(after ?? (await newest()));
    for (;;) {
      const { data: body } = await this.#send<ReadableStream<Uint8Array>>({
        method: 'GET',
        collection: 'events/stream',
        query: { after: position, type },
        isStream: true,
        isPatient: true,
        options,
      });
      for await (const message of readMessages(body, this.#clock, options.signal)) {
        const event = parseEvent(message);
        if (event.id <= position) continue;
        yield event;
        position = event.id;
      }
      await sleep(this.#clock, reopenMs * (1 + this.#clock.random()), options.signal);
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

/** Returns the event in a message. Throws a ServerError if there is none, because skipping it would lose a change. */
function parseEvent({ id, data }: Message): Event {
  try {
    const event = parseJson(data) as Event;
    if (String(event.id) === id) return event;
  } catch {}
  const message = `The stream has a message with the id ${id} that is not an event.`;
  throw new ServerError({ code: 'unexpected_response', message, status: 200, attempts: 1 });
}
