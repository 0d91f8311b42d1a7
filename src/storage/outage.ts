/** What of the store an outage concerns, as operators know it, and whether it works again. */
export interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
}

/** Tells operators something, in words; with `outage`, that an outage begins or ends. */
export type Notice = (text: string, outage?: OutageNotice) => void;

/** How often in a row a reason has to be given before operators are told that it is another one than before. */
const timesUntilReported = 4;
/** Most reasons that are told of one outage. */
const mostReasons = 10;

/** Something the store needs and that may stop working. Operators are told when an outage begins and when it ends. */
export class Outage {
  readonly #part: string;
  readonly #notice: Notice;
  readonly #reported = new Set<string>();
  #inARow = 0;
  /** Why it does not work; undefined while it does. */
  trouble: string | undefined;

  /** `part` is what may stop working, such as "PostgreSQL". */
  constructor(part: string, notice: Notice) {
    this.#part = part;
    this.#notice = notice;
  }

  /**
   * Begins an outage; during one, says why it goes on. Operators are told of another reason once it stays: what a server
   * says while it goes down (that it ends a connection, say) is not yet why it is away.
   */
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

  /** Ends the outage, if there is one. */
  end(): void {
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.#reported.clear();
    this.#notice(`${this.#part} available again`, { part: this.#part, works: true });
  }
}
