import { DeadlineQueue } from '../../outages/deadline-queue.ts';

/** Interval between checks, as a fraction of the permitted silence. */
const checkFraction = 0.2;
/** Maximum time for one reply while other replies arrive, as a multiple of the permitted silence. */
const maxTimeoutFactor = 10;
/** Additional silence permitted per pending reply, because some replies are expensive. */
const perReplyMs = 0.5;

/**
 * Distinguishes a hung server, which neither replies nor closes its connections, from a busy server. A server is
 * considered down if replies are pending and none arrives for a certain time, or if a single reply takes ten times as
 * long. The permitted time grows with the number of pending replies. Time during which this process or a busy machine
 * blocks the event loop is not counted, because it does not indicate a server failure.
 */
export class ReplyTimeouts {
  readonly #silenceMs: number;
  readonly #checkIntervalMs: number;
  readonly #makeError: () => unknown;
  readonly #onTimeout: () => void;
  /** Pending replies. A reply's deadline is the earliest time at which the server may be considered down. */
  readonly #pending;
  #attentiveMs = 0;
  #checkedAt = 0;
  #repliedAt = 0;

  /** On a timeout, calls `onTimeout`, then rejects all pending replies with the error from `makeError`. */
  constructor(silenceMs: number, makeError: () => unknown, onTimeout: () => void) {
    this.#silenceMs = silenceMs;
    this.#checkIntervalMs = silenceMs * checkFraction;
    this.#makeError = makeError;
    this.#onTimeout = onTimeout;
    this.#pending = new DeadlineQueue({
      expiry: { intervalMs: this.#checkIntervalMs, run: () => this.#check() },
    });
  }

  get pending(): number {
    return this.#pending.size;
  }

  within<T>(reply: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#pending.size === 0) this.#moveClock();
      const number = this.#pending.add({ dueAt: this.#now() + this.#silenceMs, reject });
      const settle = <V>(settled: (value: V) => void) => {
        return (value: V) => {
          // A late reply to an abandoned command does not count as activity.
          if (this.#pending.remove(number) !== undefined) this.#repliedAt = this.#now();
          settled(value);
        };
      };
      reply.then(settle(resolve), settle(reject));
    });
  }

  /** Reads a clock that advances by at most one interval between two checks. */
  #now(): number {
    return this.#attentiveMs + Math.min(performance.now() - this.#checkedAt, this.#checkIntervalMs);
  }

  #moveClock(): void {
    this.#attentiveMs = this.#now();
    this.#checkedAt = performance.now();
  }

  #check(): void {
    this.#moveClock();
    if (!this.#isTimedOut()) return;
    this.#onTimeout();
    this.abandon();
  }

  #isTimedOut(): boolean {
    const { oldest, size } = this.#pending;
    if (oldest === undefined) return false;
    const allowedMs = this.#silenceMs + size * perReplyMs;
    const askedAt = oldest.dueAt - this.#silenceMs;
    const silentMs = this.#attentiveMs - Math.max(askedAt, this.#repliedAt);
    return silentMs >= allowedMs || this.#attentiveMs - askedAt >= allowedMs * maxTimeoutFactor;
  }

  /** Rejects the pending replies of a closed connection, because the client does not reject them. */
  abandon(): void {
    this.#pending.expire(this.#makeError());
  }
}
