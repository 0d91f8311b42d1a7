/**
 * Schedules all requests of a client. The service bans a key for 100 "strikes" within ten minutes. A strike
 * is a request that is rejected a second or more after the first 429 of an episode. Other clients may use the
 * same key, and this client does not see their 429 responses. Therefore, this client:
 * - sends no request during a `Retry-After`, nor while the last rate-limit headers show an exhausted quota;
 * - after a second without a response, sends a single request, and delays all other requests until there is a
 *   response. While there is none, it sends one more request per second. If other clients have exhausted the limit
 *   in the meantime, the single request causes only one strike, regardless of the number of waiting calls;
 * - for ten minutes after a 429, first calls `GET /rate-limit`, which does not count against the limit and is never a
 *   strike. A request within a second after a response with remaining quota cannot be a strike, because an episode
 *   would have begun less than a second ago. A client therefore gets at most one strike in ten minutes.
 */
import { onAbort } from './abort.js';
import type { Clock } from './clock.js';
import { createError } from './create-error.js';
import { type AnimalStoreError, RateLimitError, TimeoutError } from './errors.js';
import type { Limits } from './limits.js';
import { Quota } from './quota.js';

/** Maximum number of requests in flight. */
const maxInFlight = 32;
/** Time after a 429 during which additional rejected requests do not count as strikes. */
export const graceMs = 1_000;
/** Part of `graceMs` that allows for timer and network delays. */
const marginMs = 100;
/** Window in which the service counts strikes. */
const strikesLastMs = 600_000;

/** A request waiting to be sent. */
export interface QueuedRequest {
  /** Maximum time to wait for limits and for a service that does not respond. */
  readonly maxWaitMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Number of earlier attempts. Retries are sent before other requests. */
  readonly attempts: number;
}

interface Waiting extends QueuedRequest {
  /** Value of `#waitedMs` when this request was queued. */
  readonly waitedBeforeMs: number;
  readonly enter: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Gate {
  readonly #clock: Clock;
  readonly #pace: boolean;
  readonly #ask: () => Promise<void>;
  readonly #quota = new Quota();
  readonly #queue: Waiting[] = [];
  #inFlight = 0;
  #isAsking = false;
  /**
   * Total time that requests have waited for limits. A wait for other responses counts only once the service is silent:
   * none has arrived for `#timeoutMs`.
   */
  #waitedMs = 0;
  /** May be in the future. */
  #waitingSince = Number.POSITIVE_INFINITY;
  /** The longest timeout of the requests since none was in flight or in the queue. */
  #timeoutMs = 0;
  /** When a response last arrived, no request was waiting, or a wait for a limit ended, whichever is latest. */
  #respondedAt = Number.NEGATIVE_INFINITY;
  /** The end of the wait for which all requests in the queue have been checked. */
  #checkedFor = Number.NEGATIVE_INFINITY;
  /** When requests that have waited too long for a response were last rejected. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  #lastAt = Number.NEGATIVE_INFINITY;
  #closedUntil = Number.NEGATIVE_INFINITY;
  #closedBy: AnimalStoreError | undefined;
  #cautiousUntil = Number.NEGATIVE_INFINITY;
  #cancelTimer: () => void = () => {};
  /** When the timer is due; Infinity while there is none. */
  #continuesAt = Number.POSITIVE_INFINITY;

  /** `ask` must send `GET /rate-limit`, pass the response to `update`, and never reject. */
  constructor(clock: Clock, pace: boolean, ask: () => Promise<void>) {
    this.#clock = clock;
    this.#pace = pace;
    this.#ask = ask;
  }

  /**
   * Resolves with the time that counts as waiting (ms) once the request may be sent. The caller must call `leave` when
   * the request is finished. Rejects if the wait would exceed `maxWaitMs`.
   */
  enter(entry: QueuedRequest): Promise<number> {
    this.#skipSuspension();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        ...entry,
        waitedBeforeMs: this.#totalWaitMs(),
        enter: () => {
          stop();
          resolve(this.#waitedMs - waiting.waitedBeforeMs);
        },
        reject: (reason) => {
          stop();
          reject(reason);
        },
      };
      const stop = onAbort(entry.signal, () => {
        // The request may have left the queue already, if `#wait` has scheduled its rejection.
        const place = this.#queue.indexOf(waiting);
        if (place >= 0) this.#queue.splice(place, 1);
        waiting.reject(entry.signal?.reason);
        this.#pump();
      });
      if (this.#queue.length === 0) {
        this.#respondedAt = this.#clock.now();
        if (this.#inFlight === 0) this.#timeoutMs = 0;
      }
      this.#timeoutMs = Math.max(this.#timeoutMs, entry.timeoutMs);
      if (entry.attempts > 0) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      this.#pump();
    });
  }

  /** Marks a request as finished, whether or not it got a response. */
  leave(): void {
    this.#inFlight--;
    this.#pump();
  }

  /** Updates the quota from the headers of a response. */
  update(limits: Limits | undefined, sentAt: number): void {
    this.#respondedAt = this.#clock.now();
    this.#quota.update(limits, sentAt, this.#respondedAt);
  }

  /** Blocks all requests for `ms` milliseconds because of an error. */
  close(error: AnimalStoreError, ms: number): void {
    const until = this.#clock.now() + ms;
    if (error.status === 429) this.#cautiousUntil = Math.max(this.#cautiousUntil, until + strikesLastMs);
    if (until <= this.#closedUntil) return;
    this.#closedUntil = until;
    this.#closedBy = error;
  }

  /** Removes the block set by `close`, because the service accepts requests again. */
  open(): void {
    this.#closedUntil = Number.NEGATIVE_INFINITY;
    this.#pump();
  }

  /** `#waitedMs` including the current wait. */
  #totalWaitMs(): number {
    return this.#waitedMs + Math.max(0, this.#clock.now() - this.#waitingSince);
  }

  #pump(isJustUpdated = false): void {
    this.#skipSuspension();
    this.#cancelTimer();
    this.#continuesAt = Number.POSITIVE_INFINITY;
    this.#waitedMs = this.#totalWaitMs();
    this.#waitingSince = Number.POSITIVE_INFINITY;
    let isUpdated = isJustUpdated;
    while (this.#queue.length > 0) {
      const now = this.#clock.now();
      const opensAt = this.#opensAt(now, isUpdated);
      if (opensAt > now) {
        if (opensAt < Infinity) this.#waitUntil(opensAt, now);
        else this.#waitForResponse(now);
        return;
      }
      isUpdated = false;
      this.#inFlight++;
      this.#lastAt = now;
      this.#queue.shift()?.enter();
    }
  }

  /** Returns when the next request may be sent; Infinity if it must wait for a response or for one second. */
  #opensAt(now: number, isUpdated: boolean): number {
    if (now < this.#closedUntil) return this.#closedUntil;
    if (this.#isAsking || this.#inFlight >= maxInFlight) return Infinity;
    const exhausted = this.#quota.exhausted(now);
    if (exhausted !== undefined) return exhausted.until;
    if (this.#inFlight > 0 && this.#quota.left(now) <= this.#inFlight) return Infinity;
    const isCautious = now < this.#cautiousUntil;
    if (!isUpdated && !this.#isUpToDate(now, isCautious)) {
      if (this.#pace || isCautious) {
        this.#askFirst();
        return Infinity;
      }
      if (this.#inFlight > 0 && now < this.#lastAt + graceMs) return Infinity;
    }
    return this.#pace ? this.#quota.paced(this.#lastAt, this.#inFlight) : now;
  }

  /**
   * Whether the known quota is still valid. A pacing client assumes that no other client uses the key until it
   * gets a 429.
   */
  #isUpToDate(now: number, isCautious: boolean): boolean {
    if (this.#pace && !isCautious) return this.#quota.isKnown(now);
    // Unless the client is cautious, a quota received in the last half second is also valid. Otherwise, slow
    // responses would never count as valid, and calls would be sent one at a time.
    return this.#quota.isFresh(now, graceMs - marginMs, isCautious ? 0 : graceMs / 2);
  }

  #askFirst(): void {
    this.#isAsking = true;
    void this.#ask().then(() => {
      this.#isAsking = false;
      this.#pump(true);
    });
  }

  /** Sets a timer for `opensAt`, and rejects the requests that cannot wait that long. */
  #waitUntil(opensAt: number, now: number): void {
    this.#waitingSince = now;
    this.#respondedAt = opensAt;
    const seconds = Math.ceil((opensAt - now) / 1_000);
    // If the time is the same, all others have been checked, and checking thousands for each new one would take long.
    const unchecked =
      opensAt === this.#checkedFor ? [...this.#queue.slice(0, 1), ...this.#queue.slice(-1)] : this.#queue;
    this.#checkedFor = opensAt;
    this.#rejectAfter(opensAt - now, unchecked, ({ attempts }) => this.#refusal(seconds, now, attempts));
    if (this.#queue.length > 0) this.#pumpAfter(opensAt - now, now);
  }

  /**
   * Stops waiting for a slow response after `graceMs`. If the service is silent, rejects the requests that have waited too
   * long.
   */
  #waitForResponse(now: number): void {
    const silentSince = this.#respondedAt + this.#timeoutMs;
    this.#waitingSince = Math.max(now, silentSince);
    // Once a second, and not for each of thousands of waiting requests.
    if (now > silentSince && now >= this.#checkedAt + graceMs) {
      this.#checkedAt = now;
      this.#rejectAfter(0, this.#queue, ({ attempts }) => {
        const message = `The request was not sent${attempts > 0 ? ' again' : ''}: the service does not respond.`;
        return new TimeoutError({ code: 'timeout', message, attempts });
      });
    }
    if (this.#queue.length === 0) return;
    this.#pumpAfter(graceMs, now);
  }

  #pumpAfter(ms: number, now: number): void {
    this.#continuesAt = now + ms;
    this.#cancelTimer = this.#clock.after(ms, () => this.#pump());
  }

  /**
   * Does not count the time during which the process was suspended and could not receive responses. The first event
   * afterwards can be the timer, a timeout, a closed connection or a new call.
   */
  #skipSuspension(): void {
    const now = this.#clock.now();
    const lateMs = now - this.#continuesAt;
    if (lateMs <= graceMs) return;
    this.#continuesAt = now;
    this.#respondedAt = Math.min(now, this.#respondedAt + lateMs);
    this.#waitingSince += lateMs;
  }

  /** Rejects those of the requests that cannot wait for another `ms` milliseconds. */
  #rejectAfter(
    ms: number,
    requests: readonly Waiting[],
    error: (request: QueuedRequest) => AnimalStoreError,
  ): void {
    const expired = new Set(
      requests.filter((each) => this.#waitedMs - each.waitedBeforeMs + ms > each.maxWaitMs),
    );
    if (expired.size === 0) return;
    this.#queue.splice(0, Infinity, ...this.#queue.filter((waiting) => !expired.has(waiting)));
    // Rejects asynchronously, because otherwise a loop that ignores the error would block the program.
    for (const waiting of expired) this.#clock.after(0, () => waiting.reject(error(waiting)));
  }

  /** Returns the error for a request that cannot wait for the remaining `seconds`. */
  #refusal(seconds: number, now: number, attempts: number): AnimalStoreError {
    const closedBy = this.#closedBy;
    if (now < this.#closedUntil && closedBy !== undefined) {
      const { code, status, message, requestId, headers } = closedBy;
      const wasSent = headers?.has('retry-after') === true;
      return createError(
        { code, status, message, requestId, headers, attempts },
        [],
        wasSent ? seconds : undefined,
      );
    }
    const isDay = this.#quota.exhausted(now)?.isDay === true;
    return new RateLimitError(
      {
        code: isDay ? 'daily_quota_exceeded' : 'rate_limit_exceeded',
        status: 429,
        message: `The request limit per ${isDay ? 'day' : 'minute'} is exhausted for another ${seconds} s.`,
        attempts,
      },
      seconds,
    );
  }
}
