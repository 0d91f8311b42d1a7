/** How often answers are looked for, as a part of the time the server may be silent. */
const lookPart = 0.2;
/** How much longer than it may be silent a server may take for one answer, while it gives others. */
const longestParts = 10;
/** How much longer it may be silent for each answer it owes: a busy machine takes so long for hard ones. */
const owedMs = 0.5;

interface Pending {
  /** When it was asked, by the attentive clock. */
  readonly since: number;
  readonly reject: (error: unknown) => void;
}

/**
 * Tells a server that is gone from one that is busy: a frozen server neither answers nor closes its connections. It
 * counts as gone after a time of silence, in which none of its answers came though some were due, or when one answer
 * takes ten times as long. It gets more time the more it was asked. The clock stands still while this process does not
 * look: time in which the event loop was held up, by its own work or a busy machine, says nothing about the server.
 */
export class ReplyTimeouts {
  readonly #silenceMs: number;
  readonly #lookMs: number;
  readonly #makeError: () => unknown;
  readonly #onTimeout: () => void;
  readonly #pending = new Set<Pending>();
  #timer: NodeJS.Timeout | undefined;
  /** How long this process was attentive, up to the last look. */
  #attentiveMs = 0;
  #lookedAt = 0;
  /** When the last answer came, by the attentive clock. */
  #heardAt = 0;

  /** `onTimeout` is called once for all that wait; then they are rejected with `makeError`'s error. */
  constructor(silenceMs: number, makeError: () => unknown, onTimeout: () => void) {
    this.#silenceMs = silenceMs;
    this.#lookMs = silenceMs * lookPart;
    this.#makeError = makeError;
    this.#onTimeout = onTimeout;
  }

  /** The answer, or a rejection when the server counts as gone. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#timer === undefined) {
        this.#lookedAt = performance.now();
        this.#timer = setInterval(() => this.#look(), this.#lookMs).unref();
      }
      const pending = { since: this.#now(), reject };
      this.#pending.add(pending);
      const settle = <V>(settled: (value: V) => void) => {
        return (value: V) => {
          // Of those that were given up nothing is heard.
          if (this.#pending.delete(pending)) this.#heardAt = this.#now();
          settled(value);
        };
      };
      answer.then(settle(resolve), settle(reject));
    });
  }

  /** The attentive clock: between two looks it goes on for as long as they should be apart, and no longer. */
  #now(): number {
    return this.#attentiveMs + Math.min(performance.now() - this.#lookedAt, this.#lookMs);
  }

  #look(): void {
    this.#attentiveMs = this.#now();
    this.#lookedAt = performance.now();
    if (this.#pending.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (this.#isTimedOut()) {
      // After a turn that took long, answers may lie in the socket unread: they are let in before deciding.
      setImmediate(() => setImmediate(() => this.#isTimedOut() && this.#giveUp()));
    }
  }

  #isTimedOut(): boolean {
    const [oldest] = this.#pending;
    if (oldest === undefined) return false;
    const allowedMs = this.#silenceMs + this.#pending.size * owedMs;
    const silentMs = this.#attentiveMs - Math.max(oldest.since, this.#heardAt);
    return silentMs >= allowedMs || this.#attentiveMs - oldest.since >= allowedMs * longestParts;
  }

  #giveUp(): void {
    this.#onTimeout();
    this.abandon();
  }

  /**
   * Rejects all that wait: their connection is closed. Not every answer that a client owes then is rejected by the
   * client itself, and the answers of the next connection would keep such a one waiting for long.
   */
  abandon(): void {
    const all = [...this.#pending];
    this.#pending.clear();
    for (const { reject } of all) reject(this.#makeError());
  }
}
