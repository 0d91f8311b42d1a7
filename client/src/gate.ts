/**
 * Decides when requests are sent, for all calls of a client together.
 *
 * The service bans a key for requests that are refused a second or more after the first 429 of an episode ("strikes", 100
 * within ten minutes). Several processes may share the key, and none is told of the others' 429. So this client:
 * - sends nothing while a `Retry-After` lasts, and nothing that the headers say will be refused;
 * - sends one request alone when it has heard nothing for a second, and the others when that is answered (or one more each
 *   second). A pause that others used to exhaust the limit so costs one strike, however many calls wait;
 * - for ten minutes after a 429, asks `GET /rate-limit` instead, which is free and never a strike. What is sent within a second
 *   of "there are requests left" cannot be a strike, because an episode would have begun since.
 * One client so gets at most one strike in ten minutes.
 */
import { onAbort } from './abort.js';
import type { Clock } from './clock.js';
import { errorOf } from './error-of.js';
import { type AnimalStoreError, RateLimitError } from './errors.js';
import type { Limits } from './limits.js';
import { Quota } from './quota.js';

/** Most requests under way at the same time. */
const maxInFlight = 32;
/** How long after a 429 further requests are in no danger of being strikes. */
export const graceMs = 1_000;
/** Of that, what timers and the way may take. */
const marginMs = 100;
/** How long the service remembers strikes. */
const strikesLastMs = 600_000;

/** A request that wants to be sent. */
export interface Entry {
  /** The longest it may wait for limits, in ms. */
  readonly maxWaitMs: number;
  readonly signal: AbortSignal | undefined;
  /** How often it was sent; what was sent already goes first. */
  readonly attempts: number;
}

interface Waiting extends Entry {
  /** `#stoodMs` when it came. */
  readonly stoodBefore: number;
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
  /** How long requests have waited for limits in all, not for answers of others; and since when they do. */
  #stoodMs = 0;
  #standsSince: number | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #closedUntil = Number.NEGATIVE_INFINITY;
  #closedBy: AnimalStoreError | undefined;
  #cautiousUntil = Number.NEGATIVE_INFINITY;
  #cancelTimer: () => void = () => {};

  /** `ask` sends `GET /rate-limit` and lets the gate `hear` the answer. It never rejects. */
  constructor(clock: Clock, pace: boolean, ask: () => Promise<void>) {
    this.#clock = clock;
    this.#pace = pace;
    this.#ask = ask;
  }

  /**
   * Resolves when the request may be sent, with the ms that it waited for limits; `leave` has to follow. Rejects when that would
   * take longer than it may wait.
   */
  enter(entry: Entry): Promise<number> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        ...entry,
        stoodBefore: this.#stood(),
        enter: () => {
          stop();
          resolve(this.#stoodMs - waiting.stoodBefore);
        },
        reject: (reason) => {
          stop();
          reject(reason);
        },
      };
      const stop = onAbort(entry.signal, () => {
        // It may have been turned away a moment ago, and not know yet.
        const place = this.#queue.indexOf(waiting);
        if (place >= 0) this.#queue.splice(place, 1);
        waiting.reject(entry.signal?.reason);
        this.#pump();
      });
      if (entry.attempts > 0) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      this.#pump();
    });
  }

  /** The request that entered has its answer, or none will come. */
  leave(): void {
    this.#inFlight--;
    this.#pump();
  }

  /** Takes over what an answer says of the limits. */
  hear(limits: Limits | undefined, sentAt: number): void {
    this.#quota.hear(limits, sentAt, this.#clock.now());
  }

  /** Lets nothing in for so long, because of this error. */
  close(error: AnimalStoreError, ms: number): void {
    const until = this.#clock.now() + ms;
    if (error.status === 429) this.#cautiousUntil = Math.max(this.#cautiousUntil, until + strikesLastMs);
    if (until <= this.#closedUntil) return;
    this.#closedUntil = until;
    this.#closedBy = error;
  }

  /** Ends what `close` began: the service was heard to take requests again. */
  open(): void {
    this.#closedUntil = Number.NEGATIVE_INFINITY;
    this.#pump();
  }

  /** The ms that requests have waited for limits until now. */
  #stood(): number {
    const now = this.#clock.now();
    return this.#stoodMs + (this.#standsSince === undefined ? 0 : now - this.#standsSince);
  }

  #pump(wasToldNow = false): void {
    this.#cancelTimer();
    this.#stoodMs = this.#stood();
    this.#standsSince = undefined;
    let isTold = wasToldNow;
    while (this.#queue.length > 0) {
      const now = this.#clock.now();
      const opensAt = this.#opensAt(now, isTold);
      if (opensAt > now) {
        if (opensAt < Infinity) this.#wait(opensAt, now);
        // An answer may be long in coming: others need not wait for it.
        else this.#cancelTimer = this.#clock.after(graceMs, () => this.#pump());
        return;
      }
      isTold = false;
      this.#inFlight++;
      this.#lastAt = now;
      this.#queue.shift()?.enter();
    }
  }

  /** When the next request may be sent; Infinity: when one that is under way has been answered, or a second later. */
  #opensAt(now: number, isTold: boolean): number {
    if (now < this.#closedUntil) return this.#closedUntil;
    if (this.#isAsking || this.#inFlight >= maxInFlight) return Infinity;
    const exhausted = this.#quota.exhausted(now);
    if (exhausted !== undefined) return exhausted.until;
    if (this.#inFlight > 0 && this.#quota.left(now) <= this.#inFlight) return Infinity;
    const isCautious = now < this.#cautiousUntil;
    if (!isTold && !this.#isUpToDate(now, isCautious)) {
      if (this.#pace || isCautious) {
        this.#askFirst();
        return Infinity;
      }
      if (this.#inFlight > 0 && now < this.#lastAt + graceMs) return Infinity;
    }
    return this.#pace ? this.#quota.paced(this.#lastAt, this.#inFlight) : now;
  }

  /** Whether what is known of the limits still holds. Without a 429, a pacing client takes itself for the only one. */
  #isUpToDate(now: number, isCautious: boolean): boolean {
    if (this.#pace && !isCautious) return this.#quota.isKnown(now);
    // Where answers take long, calls would else be sent one by one.
    return this.#quota.isFresh(now, graceMs - marginMs, isCautious ? 0 : graceMs / 2);
  }

  #askFirst(): void {
    this.#isAsking = true;
    void this.#ask().then(() => {
      this.#isAsking = false;
      this.#pump(true);
    });
  }

  /** Sets the timer, and turns away what may not wait that long. */
  #wait(opensAt: number, now: number): void {
    this.#standsSince = now;
    const canWait = ({ maxWaitMs, stoodBefore }: Waiting) =>
      this.#stoodMs - stoodBefore + opensAt - now <= maxWaitMs;
    const [staying, leaving] = [true, false].map((stays) =>
      this.#queue.filter((waiting) => canWait(waiting) === stays),
    ) as [Waiting[], Waiting[]];
    this.#queue.splice(0, Infinity, ...staying);
    // Not at once: a loop that ignores the error would keep the program from doing anything else.
    for (const { reject, attempts } of leaving) {
      const seconds = Math.ceil((opensAt - now) / 1_000);
      this.#clock.after(0, () => reject(this.#refusal(seconds, now, attempts)));
    }
    if (staying.length > 0) this.#cancelTimer = this.#clock.after(opensAt - now, () => this.#pump());
  }

  /** Why nothing may be sent, with the seconds that are left. */
  #refusal(seconds: number, now: number, attempts: number): AnimalStoreError {
    const closedBy = this.#closedBy;
    if (now < this.#closedUntil && closedBy !== undefined) {
      const { code, status, message, requestId, headers } = closedBy;
      const wasSent = headers?.has('retry-after') === true;
      return errorOf(
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
        message: `The request limit per ${isDay ? 'day' : 'minute'} is used up for another ${seconds} s.`,
        attempts,
      },
      seconds,
    );
  }
}
