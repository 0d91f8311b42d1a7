import { DeadlineQueue } from '../deadline-queue.ts';

/** Interval of checks, as a part of the silence allowed. */
const lookPart = 0.2;
/** Time allowed for one reply while others arrive, as a multiple of the silence allowed. */
const longestParts = 10;
/** Further silence allowed per pending reply: a busy machine needs it for expensive ones. */
const owedMs = 0.5;

/**
 * Distinguishes a frozen server, which neither replies nor closes its connections, from a busy one. It counts as down
 * after a time of silence with replies pending, or when one reply takes ten times as long. The time allowed grows with
 * the number of pending replies. It is measured by an attentive clock, which stands still while the event loop is
 * blocked, by this process or a busy machine: such time says nothing about the server.
 */
export class ReplyTimeouts {
  readonly #silenceMs: number;
  readonly #lookMs: number;
  readonly #makeError: () => unknown;
  readonly #onTimeout: () => void;
  /** Due by the attentive clock, at the earliest time at which the server may count as down. */
  readonly #pending;
  #attentiveMs = 0;
  #lookedAt = 0;
  #heardAt = 0;

  /** `onTimeout` is called before all pending replies are rejected with `makeError`'s error. */
  constructor(silenceMs: number, makeError: () => unknown, onTimeout: () => void) {
    this.#silenceMs = silenceMs;
    this.#lookMs = silenceMs * lookPart;
    this.#makeError = makeError;
    this.#onTimeout = onTimeout;
    this.#pending = new DeadlineQueue({ look: { everyMs: this.#lookMs, work: () => this.#look() } });
  }

  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#pending.size === 0) this.#moveClock();
      const number = this.#pending.add({ dueAt: this.#now() + this.#silenceMs, reject });
      const settle = <V>(settled: (value: V) => void) => {
        return (value: V) => {
          // A reply that was given up on is no sign of life.
          if (this.#pending.remove(number) !== undefined) this.#heardAt = this.#now();
          settled(value);
        };
      };
      answer.then(settle(resolve), settle(reject));
    });
  }

  /** The attentive clock, which advances by at most one interval between two checks. */
  #now(): number {
    return this.#attentiveMs + Math.min(performance.now() - this.#lookedAt, this.#lookMs);
  }

  #moveClock(): void {
    this.#attentiveMs = this.#now();
    this.#lookedAt = performance.now();
  }

  #look(): void {
    this.#moveClock();
    if (!this.#isTimedOut()) return;
    this.#onTimeout();
    this.abandon();
  }

  #isTimedOut(): boolean {
    const { oldest, size } = this.#pending;
    if (oldest === undefined) return false;
    const allowedMs = this.#silenceMs + size * owedMs;
    const askedAt = oldest.dueAt - this.#silenceMs;
    const silentMs = this.#attentiveMs - Math.max(askedAt, this.#heardAt);
    return silentMs >= allowedMs || this.#attentiveMs - askedAt >= allowedMs * longestParts;
  }

  /** Rejects the replies of a closed connection, which the client does not reject itself. */
  abandon(): void {
    this.#pending.expire(this.#makeError());
  }
}
