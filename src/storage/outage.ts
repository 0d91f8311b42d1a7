/** What of the store an outage concerns, as operators know it, and whether it works again. */
export interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
}

/** Tells operators something, in words; with `outage`, that an outage begins or ends. */
export type Notice = (text: string, outage?: OutageNotice) => void;

/** Something the store needs and that may stop working. Operators are told when an outage begins and when it ends. */
export class Outage {
  readonly #part: string;
  readonly #notice: Notice;
  /** Why it does not work; undefined while it does. */
  trouble: string | undefined;

  /** `part` is what may stop working, such as "PostgreSQL". */
  constructor(part: string, notice: Notice) {
    this.#part = part;
    this.#notice = notice;
  }

  /** Begins an outage. During one, only the reason that `/readyz` shows changes. */
  begin(reason: string): void {
    const isNew = this.trouble === undefined;
    this.trouble = `degraded: ${this.#part} does not work: ${reason}`;
    if (isNew) this.#notice(this.trouble, { part: this.#part, works: false });
  }

  /** Ends the outage, if there is one. */
  end(): void {
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.#notice(`${this.#part} works again`, { part: this.#part, works: true });
  }
}
