interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
}

/** Reports something to operators; with `outage`, that an outage begins or ends. */
export type Notice = (text: string, outage?: OutageNotice) => void;

/** How often in a row another reason must occur before it is reported. */
const timesUntilReported = 4;
const mostReasons = 10;

/** A part of the store that may stop working. Operators are notified when an outage begins and when it ends. */
export class Outage {
  readonly #part: string;
  readonly #notice: Notice;
  readonly #reported = new Set<string>();
  #inARow = 0;
  /** Why it does not work; undefined while it does. */
  trouble: string | undefined;

  constructor(part: string, notice: Notice) {
    this.#part = part;
    this.#notice = notice;
  }

  /** Another reason is reported once it persists: the first error of a server that goes down is not the cause. */
  begin(reason: string): void {
    const isNew = this.trouble === undefined;
    const trouble = `degraded: ${this.#part} unavailable: ${reason}`;
    this.#inARow = trouble === this.trouble ? this.#inARow + 1 : 1;
    this.trouble = trouble;
    const stays =
      this.#inARow >= timesUntilReported && this.#reported.size < mostReasons && !this.#reported.has(trouble);
    if (!isNew && !stays) return;
    this.#reported.add(trouble);
    this.#notice(trouble, { part: this.#part, works: false });
  }

  end(): void {
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.#reported.clear();
    this.#notice(`${this.#part} available again`, { part: this.#part, works: true });
  }
}

export function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
