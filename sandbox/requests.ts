import type { ErrorCode } from '../src/contract/errors.ts';
import type { PlanName } from '../src/domain/plan.ts';

export const maxRequests = 10_000;

export interface RequestEntry {
  readonly number: number;
  /** Arrival time on the sandbox's clock (ISO 8601). */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly operation: string | null;
  readonly account: number | null;
  readonly plan: PlanName | null;
  readonly requestId: string;
  /** Null until the response is sent. Remains null if the connection is closed without a response. */
  status: number | null;
  code: ErrorCode | null;
  fault: string | null;
}

/** Matches API keys, which are masked in recorded URLs. */
const keys = /ask_\w*/g;

export class Requests {
  #entries: RequestEntry[] = [];
  #count = 0;

  add(request: Omit<RequestEntry, 'number' | 'status' | 'code' | 'fault'>): RequestEntry {
    const entry: RequestEntry = {
      number: ++this.#count,
      ...request,
      path: request.path.replace(keys, 'ask_…'),
      status: null,
      code: null,
      fault: null,
    };
    this.#entries.push(entry);
    // Trims the list only occasionally, because every trim copies it.
    if (this.#entries.length >= 2 * maxRequests) this.#entries = this.#entries.slice(-maxRequests);
    return entry;
  }

  list(accountId: number | undefined): RequestEntry[] {
    const latest = this.#entries.slice(-maxRequests);
    return accountId === undefined ? latest : latest.filter(({ account }) => account === accountId);
  }

  clear(accountId: number | undefined): void {
    if (accountId === undefined) this.#count = 0;
    this.#entries =
      accountId === undefined ? [] : this.#entries.filter(({ account }) => account !== accountId);
  }
}
