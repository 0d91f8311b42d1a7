/** Number of failures after which a reason is reported. */
const failuresUntilReported = 4;
const maxReported = 10;
const maxCounted = 100;

/**
 * Selects the reasons for failures that are worth a line in the log. A reason is reported once it has occurred four times,
 * because the first error of a failing server is often not the cause. If reasons alternate, the fourth failure is reported,
 * whatever its reason. Each reason is reported once.
 */
export class ReportedReasons {
  readonly #occurrences = new Map<string, number>();
  readonly #reported = new Set<string>();
  readonly #isFirstReported: boolean;
  #failures = 0;

  /** `isFirstReported` is whether the first reason is reported at once. */
  constructor(isFirstReported = true) {
    this.#isFirstReported = isFirstReported;
  }

  get count(): number {
    return this.#reported.size;
  }

  /** Called at each failure. Returns whether to report its reason. */
  add(reason: string): boolean {
    this.#failures++;
    const occurrences = (this.#occurrences.get(reason) ?? 0) + 1;
    if (occurrences > 1 || this.#occurrences.size < maxCounted) this.#occurrences.set(reason, occurrences);
    const isFirst = this.#failures === (this.#isFirstReported ? 1 : failuresUntilReported);
    const persists = occurrences >= failuresUntilReported || (isFirst && this.#reported.size === 0);
    if (!persists || this.#reported.has(reason) || this.#reported.size >= maxReported) return false;
    this.#reported.add(reason);
    return true;
  }
}
