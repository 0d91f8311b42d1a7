/** Number of consecutive occurrences after which a new reason is reported. */
const occurrencesUntilReported = 4;
const maxReasons = 10;

/**
 * Selects the reasons for failures that are worth a line in the log. A reason is reported only if it persists, because
 * the first error of a failing server is often not the cause. Each reason is reported once.
 */
export class ReportedReasons {
  readonly #reported = new Set<string>();
  readonly #isFirstReported: boolean;
  #last: string | undefined;
  #repeats = 0;

  /** `isFirstReported` is whether the first reason is reported at once. */
  constructor(isFirstReported = true) {
    this.#isFirstReported = isFirstReported;
  }

  get count(): number {
    return this.#reported.size;
  }

  /** Called at each failure. Returns whether to report its reason. */
  add(reason: string): boolean {
    const isFirst = this.#last === undefined;
    this.#repeats = reason === this.#last ? this.#repeats + 1 : 1;
    this.#last = reason;
    const persists = this.#repeats >= occurrencesUntilReported || (isFirst && this.#isFirstReported);
    if (!persists || this.#reported.has(reason) || this.#reported.size >= maxReasons) return false;
    this.#reported.add(reason);
    return true;
  }
}
