/** How often answers are looked for, as a part of the time they have. */
const lookPart = 0.2;

interface Pending {
  readonly dueAt: number;
  readonly reject: (error: unknown) => void;
}

/**
 * Gives a server's answers a time to arrive in: a frozen server neither answers nor closes its connections.
 * The answers come about in the order of the questions, so one timer that looks at the oldest is enough for all.
 */
export class Overdue {
  readonly #timeoutMs: number;
  readonly #makeError: () => unknown;
  readonly #onOverdue: () => void;
  readonly #pending = new Set<Pending>();
  #timer: NodeJS.Timeout | undefined;

  /** `onOverdue` is called once for all that wait; then they are rejected with `makeError`'s error. */
  constructor(timeoutMs: number, makeError: () => unknown, onOverdue: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#makeError = makeError;
    this.#onOverdue = onOverdue;
  }

  /** The answer, or a rejection within the time-out. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = { dueAt: performance.now() + this.#timeoutMs * (1 - lookPart), reject };
      this.#pending.add(pending);
      this.#timer ??= setInterval(() => this.#look(), this.#timeoutMs * lookPart).unref();
      const settle = <V>(settled: (value: V) => void) => {
        return (value: V) => {
          this.#pending.delete(pending);
          settled(value);
        };
      };
      answer.then(settle(resolve), settle(reject));
    });
  }

  #look(): void {
    if (this.#pending.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (this.#isOverdue()) {
      // After a turn that took long, answers may lie in the socket unread: they are let in before judging.
      setImmediate(() => setImmediate(() => this.#isOverdue() && this.#giveUp()));
    }
  }

  #isOverdue(): boolean {
    const [oldest] = this.#pending;
    return oldest !== undefined && oldest.dueAt <= performance.now();
  }

  #giveUp(): void {
    const all = [...this.#pending];
    this.#pending.clear();
    this.#onOverdue();
    for (const { reject } of all) reject(this.#makeError());
  }
}
