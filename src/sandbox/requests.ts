import type { ErrorCode } from '../contract/errors.ts';
import type { PlanName } from '../domain/plan.ts';

/** Requests that are remembered; the oldest are forgotten. */
export const rememberedRequests = 10_000;

/** What was asked under the version, and what came of it. */
export interface RequestEntry {
  /** From 1, in the order they came. */
  readonly number: number;
  /** When it came, by the sandbox's clock (ISO 8601). */
  readonly at: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly operation: string | null;
  /** Of its key; null without a valid one. */
  readonly account: number | null;
  readonly plan: PlanName | null;
  readonly requestId: string;
  /** What was sent back: null until then, and where the connection was cut. */
  status: number | null;
  code: ErrorCode | null;
  /** The fault that happened to it. */
  fault: string | null;
}

/** Keys do not belong into an address, and clients put them there. */
const keys = /ask_\w*/g;

/** The latest requests, oldest first. */
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
    // Now and then, for taking off the first moves all others.
    if (this.#entries.length >= 2 * rememberedRequests)
      this.#entries = this.#entries.slice(-rememberedRequests);
    return entry;
  }

  /** Of an account, or all. */
  list(accountId: number | undefined): RequestEntry[] {
    const latest = this.#entries.slice(-rememberedRequests);
    return accountId === undefined ? latest : latest.filter(({ account }) => account === accountId);
  }

  /** Forgets those of an account, or all. */
  clear(accountId: number | undefined): void {
    if (accountId === undefined) this.#count = 0;
    this.#entries =
      accountId === undefined ? [] : this.#entries.filter(({ account }) => account !== accountId);
  }
}
