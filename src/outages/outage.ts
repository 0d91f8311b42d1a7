interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
  /** Whether requests fail with 503 during the outage. */
  readonly failsRequests?: boolean;
}

/** Reports an event to operators. `outage` is set if an outage begins or ends. */
export type Notify = (text: string, outage?: OutageNotice) => void;

/** Number of consecutive occurrences after which a new reason is reported. */
const occurrencesUntilReported = 4;
const maxReasons = 10;

/** Tracks the outages of one component of the store. Operators are notified when an outage begins and when it ends. */
export class Outage {
  readonly #part: string;
  readonly #notice: Notify;
  readonly #failsRequests: boolean;
  readonly #reported = new Set<string>();
  #repeats = 0;
  /** Reason for the current outage; undefined if there is no outage. */
  trouble: string | undefined;

  constructor(part: string, notice: Notify, failsRequests = false) {
    this.#part = part;
    this.#notice = notice;
    this.#failsRequests = failsRequests;
  }

  /**
   * Begins an outage, or changes its reason. A new reason is reported only if it persists, because the first error of a
   * failing server is often not the cause.
   */
  begin(reason: string): void {
    const isNew = this.trouble === undefined;
    const trouble = `degraded: ${this.#part} unavailable: ${reason}`;
    this.#repeats = trouble === this.trouble ? this.#repeats + 1 : 1;
    this.trouble = trouble;
    const stays =
      this.#repeats >= occurrencesUntilReported &&
      this.#reported.size < maxReasons &&
      !this.#reported.has(trouble);
    if (!isNew && !stays) return;
    this.#reported.add(trouble);
    this.#notice(trouble, { part: this.#part, works: false, failsRequests: this.#failsRequests });
  }

  end(how = 'available again'): void {
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.#reported.clear();
    this.#notice(`${this.#part} ${how}`, { part: this.#part, works: true });
  }
}

/** The message of an error. An `ApiError` is not an `Error`, and its message is for clients, so its cause is described. */
export function describeError(error: unknown): string {
  if (error instanceof Error) return error.message;
  const cause = error instanceof Object && 'cause' in error ? error.cause : undefined;
  return cause === undefined ? String(error) : describeError(cause);
}
