import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../contract/api-error.ts';
import { eventsExpiredRemedy } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { EventRepresentation } from '../../contract/representations.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Clock } from '../../domain/clock.ts';
import { canRead, type EventType, eventTypes } from '../../domain/event-type.ts';
import { FairQueue, restInProportion } from '../../domain/fair-queue.ts';
import type { Scope } from '../../domain/scope.ts';
import type { BeginRun } from '../../domain/task-run.ts';
import type { EventBounds, EventStore } from '../../storage/storage.ts';
import { skippedIdsPerRestore } from '../../tables/events.ts';
import { CallerChanged } from '../admission/admission.ts';
import { EventTail, takeContiguous } from './tail.ts';
import { type WaitSlot, WaitSlots } from './wait-slots.ts';

/** Maximum delay of an empty page while the service drains. */
const closingWaitMs = 1_000;
/**
 * Maximum number of events examined for a filtered page, because a read blocks the event loop of an embedded store.
 */
const examinedBatch = 500;
/** Maximum number of events examined for an empty page without a wait, and the maximum time in ms. */
const maxExamined = 10_000;
const maxSearchMs = 50;

/** The events that a caller has selected and is allowed to read. */
export interface EventFilter {
  readonly types: ReadonlySet<EventType>;
  /** The client's account. Operators may read the events of all accounts. */
  readonly accountId: number | 'all';
}

export function matchesFilter({ type, accountId }: EventRepresentation, eventFilter: EventFilter): boolean {
  const mayRead =
    accountId === null || eventFilter.accountId === 'all' || accountId === eventFilter.accountId;
  return mayRead && eventFilter.types.has(type);
}

/** Whether a key with these scopes may read all selected events. */
export function canReadAll(scopes: ReadonlySet<Scope>, { types }: EventFilter): boolean {
  return scopes.has('events:read') && [...types].every((type) => canRead(scopes, type));
}

/**
 * Calls `onAccessLost` once the caller may no longer read the selected events. Returns a function that stops watching.
 */
export type WatchCaller = (eventFilter: EventFilter, onAccessLost: () => void) => () => void;

/** Runs the wait of a request for an event, for example without counting it as a read in progress. */
export type AroundWait = <T>(wait: () => Promise<T>) => Promise<T>;

export interface PageRequest {
  /** Undefined to start with the oldest retained event. */
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly eventFilter: EventFilter;
  /** Maximum time to wait for an event if the page is empty, in seconds. */
  readonly waitSeconds: number;
  /** Watches the caller while the request is waiting. */
  readonly guard?: WatchCaller | undefined;
  readonly aroundWait?: AroundWait | undefined;
}

type EventPage = Page<EventRepresentation>;

/** Retained events, before filtering by what the caller may read. */
interface EventRead {
  readonly events: readonly EventRepresentation[];
  /** The id of the last event read, or the starting position if there is none. */
  readonly last: bigint;
  readonly isEnd: boolean;
}

/** The events of a store, page by page. */
export class EventFeed implements Disposable {
  readonly tail: EventTail;
  /**
   * Runs the reads of streams and requests that search the stored events, one at a time with rests, alternating between
   * accounts. Otherwise, a few streams that search a long history would occupy the event loop and the database, because
   * backpressure does not slow down a stream whose filter matches no events.
   */
  readonly catchUpPacer: FairQueue<number>;
  readonly #slots = new WaitSlots();
  readonly #store: EventStore;
  readonly #clock: Clock;

  constructor(
    store: EventStore,
    clock: Clock,
    beginRead?: BeginRun,
    catchUpPacer = new FairQueue<number>(restInProportion()),
  ) {
    this.#store = store;
    this.#clock = clock;
    this.catchUpPacer = catchUpPacer;
    this.tail = new EventTail(store, clock, beginRead);
  }

  /** Throws the same errors as `read`. */
  page(request: PageRequest): Awaitable<EventPage> {
    const { after, limit, eventFilter, waitSeconds, guard, aroundWait = (wait) => wait() } = request;
    const examined = eventFilter.types.size === eventTypes.length ? limit : Math.max(limit, examinedBatch);
    return andThen(this.read(after, examined), (found) => {
      const page = filterPage(found, limit, eventFilter);
      if (page.items.length > 0) return page;
      if (found.isEnd && waitSeconds === 0) return page;
      if (found.isEnd) return aroundWait(async () => this.#delayed(page, request, waitSeconds * 1_000));
      // Without a caller to watch, the reader is a command, which requests the next page itself.
      return guard === undefined ? page : this.#searchGuarded(found.last, request, guard);
    });
  }

  /** Throws `events_expired` if events after `after` were deleted, or if `after` is higher than the last id. */
  read(after: bigint | undefined, limit: number): Awaitable<EventRead> {
    return andThen(this.#store.list(after ?? 0n, limit), (found) => {
      const oldest = found[0]?.id;
      if (oldest === undefined)
        return andThen(this.#confirmEnd(after), (last) => ({ events: [], last, isEnd: true }));
      const from = after ?? oldest - 1n;
      if (oldest !== from + 1n) throw eventsExpiredError(from, oldest);
      const events = takeContiguous(found, from);
      return { events, last: from + BigInt(events.length), isEnd: found.length < limit };
    });
  }

  /** The highest id assigned so far. It may not belong to an event, because ids can be skipped. */
  last(): Awaitable<bigint> {
    return andThen(this.#store.bounds(), ({ last }) => last);
  }

  /** The most recent events, newest first. The next page contains later events. */
  newest(limit: number, eventFilter: EventFilter): Awaitable<EventPage> {
    const examined = eventFilter.types.size === eventTypes.length ? limit : Math.max(limit, examinedBatch);
    // The last id is read first, so that an event recorded in between is on this page or the next one.
    return andThen(this.last(), (last) =>
      andThen(this.#store.newest(examined), (found) => {
        const items = found.filter((event) => matchesFilter(event, eventFilter)).slice(0, limit);
        const newest = found[0]?.id ?? last;
        return { items, next: String(newest > last ? newest : last) };
      }),
    );
  }

  [Symbol.dispose](): void {
    this.catchUpPacer.close();
    this.tail[Symbol.dispose]();
  }

  /**
   * Returns the position at the end of an empty page, after checking that no event is missing. Events recorded since
   * the page was read come after this position.
   */
  #confirmEnd(after: bigint | undefined): Awaitable<bigint> {
    return andThen(this.#store.bounds(), ({ oldest, last }): Awaitable<bigint> => {
      if (after === undefined || after === last) return after ?? oldest - 1n;
      if (after > last) throw unknownPositionError(after, last);
      return andThen(this.#store.list(after, 1), ([next]) => {
        if (next?.id !== after + 1n) throw eventsExpiredError(after, next?.id ?? last + 1n);
        return after;
      });
    });
  }

  /** Continues an empty page that ended at `from`, while watching the caller. Rejects with `CallerChanged`. */
  async #searchGuarded(from: bigint, request: PageRequest, guard: WatchCaller): Promise<EventPage> {
    const accessLost = Promise.withResolvers<never>();
    const leaveGuard = guard(request.eventFilter, () => accessLost.reject(new CallerChanged()));
    try {
      return await Promise.race([accessLost.promise, this.#search(from, request)]);
    } finally {
      leaveGuard();
    }
  }

  /**
   * Examines the events after `from`, taking turns with other accounts, until one matches, the end is reached, or the
   * allowed time or number of events is exhausted.
   */
  async #search(from: bigint, request: PageRequest): Promise<EventPage> {
    const { limit, eventFilter, waitSeconds } = request;
    const accountId = eventFilter.accountId === 'all' ? 0 : eventFilter.accountId;
    const batch = Math.max(limit, examinedBatch);
    const most = waitSeconds > 0 ? Number.POSITIVE_INFINITY : maxExamined;
    const until = this.#clock.steady() + (waitSeconds > 0 ? waitSeconds * 1_000 : maxSearchMs);
    let page: EventPage = { items: [], next: String(from) };
    let position = from;
    using slot = waitSeconds > 0 ? this.#slots.enter(eventFilter.accountId) : undefined;
    for (let examined = batch; examined < most && !this.tail.isClosed; examined += batch) {
      const leftMs = until - this.#clock.steady();
      if (leftMs <= 0) break;
      const turn = this.catchUpPacer.take(accountId, async () => this.read(position, batch), leftMs);
      const found = await (slot === undefined ? turn : unlessEnded(slot, turn));
      if (found === undefined) break;
      position = found.last;
      page = filterPage(found, limit, eventFilter);
      if (page.items.length > 0) break;
      if (!found.isEnd) continue;
      slot?.[Symbol.dispose]();
      return waitSeconds > 0 ? this.#delayed(page, request, until - this.#clock.steady()) : page;
    }
    return page;
  }

  /**
   * Waits up to `waitMs` for the first matching events. Returns an empty page on timeout. Rejects with
   * `CallerChanged`.
   */
  #delayed(
    page: EventPage,
    { limit, eventFilter, guard }: PageRequest,
    waitMs: number,
  ): Awaitable<EventPage> {
    // Without a delay, a client would request the next page immediately.
    if (this.tail.isClosed) return sleep(Math.min(closingWaitMs, waitMs), page);
    let leaveGuard: (() => void) | undefined;
    const slot = this.#slots.enter(eventFilter.accountId);
    const delayed = new Promise<EventPage>((resolve, reject) => {
      let empty = page;
      const listener = {
        until: this.#clock.steady() + waitMs,
        receive: (events: readonly EventRepresentation[]) => {
          const next = filterPage({ events, last: BigInt(empty.next ?? 0) }, limit, eventFilter);
          if (next.items.length === 0) {
            empty = next;
            return;
          }
          this.tail.leave(listener);
          resolve(next);
        },
        end: () => resolve(empty),
      };
      slot.onEnd = () => {
        this.tail.leave(listener);
        resolve(empty);
      };
      leaveGuard = guard?.(eventFilter, () => {
        this.tail.leave(listener);
        reject(new CallerChanged());
      });
      // Events committed since the page was read are on the next page.
      if (!this.tail.listen(BigInt(page.next ?? 0), listener)) resolve(page);
    });
    return delayed.finally(() => {
      leaveGuard?.();
      slot[Symbol.dispose]();
    });
  }
}

/** The first matching events of a read, and the id of the last event examined. An empty read keeps the position. */
function filterPage(
  { events, last }: Pick<EventRead, 'events' | 'last'>,
  limit: number,
  eventFilter: EventFilter,
): EventPage {
  const items: EventRepresentation[] = [];
  let examined = last;
  for (const event of events) {
    examined = event.id;
    if (matchesFilter(event, eventFilter)) items.push(event);
    if (items.length === limit) break;
  }
  return { items, next: String(examined) };
}

/** Throws `events_expired` unless all events after `after` are retained. */
export function expectRetained(after: bigint, { oldest, last }: EventBounds): void {
  if (after < oldest - 1n) throw eventsExpiredError(after, oldest);
  if (after > last) throw unknownPositionError(after, last);
}

/** `next` is the id of the first event after the gap, or of the next event. Older events may be retained. */
function eventsExpiredError(after: bigint, next: bigint): ApiError {
  // A reader may have read events that were lost, so its position may be inside the gap that a restore leaves.
  const isRestored = next - after > skippedIdsPerRestore / 2;
  const cause = isRestored ? ' The store was restored, or its database failed over.' : '';
  const message = `The events directly after ${after} are no longer retained; the next id is ${next}.${cause} ${eventsExpiredRemedy}`;
  return new ApiError('events_expired', { message });
}

/** If the store was restored or replaced, new ids may be lower than those that readers have already seen. */
function unknownPositionError(after: bigint, last: bigint): ApiError {
  const message = `No event has the id ${after}; the newest is ${last}. The store was restored or replaced. ${eventsExpiredRemedy}`;
  return new ApiError('events_expired', { message });
}

/**
 * Resolves with undefined when the wait must end. `Promise.race` would keep each turn's events until the end of the
 * search.
 */
function unlessEnded<T>(slot: WaitSlot, turn: Promise<T | undefined>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (slot.hasEnded) resolve(undefined);
    slot.onEnd = () => resolve(undefined);
    turn.then(resolve, reject);
  });
}
