import type { FailsRequests, OutageNotice } from '../domain/outage-notice.ts';
import { ReportedReasons } from '../domain/reported-reasons.ts';

/** Reports an event to operators. `outage` is set if an outage begins or ends. */
export type Notify = (text: string, outage?: OutageNotice) => void;

/** Tracks the outages of one component of the store. Operators are notified when an outage begins and when it ends. */
export class Outage {
  readonly #part: string;
  readonly #notice: Notify;
  readonly #failsRequests: FailsRequests;
  #reasons = new ReportedReasons();
  /** Reason for the current outage; undefined if there is no outage. */
  trouble: string | undefined;

  constructor(part: string, notice: Notify, failsRequests: FailsRequests = false) {
    this.#part = part;
    this.#notice = notice;
    this.#failsRequests = failsRequests;
  }

  /** Begins an outage, or changes its reason. */
  begin(reason: string): void {
    this.trouble = `degraded: ${this.#part} unavailable: ${reason}`;
    if (!this.#reasons.add(reason)) return;
    this.#notice(this.trouble, { part: this.#part, works: false, failsRequests: this.#failsRequests });
  }

  /** Ends the outage. `endedAt` is in the past if the end was detected later. */
  end(how = 'available again', endedAt?: number): void {
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.#reasons = new ReportedReasons();
    this.#notice(`${this.#part} ${how}`, { part: this.#part, works: true, endedAt });
  }
}

/** The message of an error. An `ApiError` is not an `Error`, and its message is for clients, so its cause is described. */
export function describeError(error: unknown): string {
  if (error instanceof Error) return error.message;
  const cause = error instanceof Object && 'cause' in error ? error.cause : undefined;
  return cause === undefined ? String(error) : describeError(cause);
}
