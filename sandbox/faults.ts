import { LRUCache } from 'lru-cache';
import { maxEntries } from '../src/domain/max-entries.ts';
import { type Fault, InvalidFaultError, isWebhookFault, parseFault } from './fault.ts';

/** Maximum number of cached `X-Sandbox` values, whose counts and random sequences continue across requests. */
const heldHeaders = 10_000;
export const maxFaults = 100;

export class RequestedFault {
  readonly fault: Fault;
  hits = 0;
  /** Accounts whose limits this fault has already changed. */
  readonly done = new Set<number>();
  #state: number;

  constructor(fault: Fault) {
    this.fault = fault;
    this.#state = fault.seed;
  }

  /** Remaining occurrences; undefined if unlimited. */
  get left(): number | undefined {
    return this.fault.times === undefined ? undefined : this.fault.times - this.hits;
  }

  /** Whether the next request triggers the fault. Each call consumes a random number. */
  happens(): boolean {
    if (this.left === 0 || (this.fault.rate < 1 && this.#draw() >= this.fault.rate)) return false;
    this.hits++;
    return true;
  }

  /** Returns the next pseudorandom number in [0, 1) (mulberry32). */
  #draw(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}

/** Id of the affected account; undefined for all accounts. */
export type FaultScope = number | undefined;

/** The active faults: for all requests, for one account, or for individual requests (in the `X-Sandbox` header). */
export class Faults {
  readonly #byScope = new Map<FaultScope, readonly RequestedFault[]>();
  readonly #byHeader = new LRUCache<string, RequestedFault>(maxEntries(heldHeaders));

  ask(scope: FaultScope, faults: readonly Fault[]): void {
    this.#byScope.set(
      scope,
      faults.map((fault) => new RequestedFault(fault)),
    );
  }

  end(scope: FaultScope): void {
    if (scope === undefined) {
      this.#byScope.clear();
      this.#byHeader.clear();
    } else this.#byScope.delete(scope);
  }

  *all(): Generator<readonly [FaultScope, RequestedFault]> {
    for (const [whose, faults] of this.#byScope) for (const fault of faults) yield [whose, fault];
  }

  /** Returns the faults for a request in order of precedence: faults for the account, then faults for all accounts. */
  of(accountId: FaultScope): readonly RequestedFault[] {
    const ofAll = this.#byScope.get(undefined) ?? [];
    return accountId === undefined ? ofAll : [...(this.#byScope.get(accountId) ?? []), ...ofAll];
  }

  /** Equal headers from one account share a fault, so that `times` counts across requests. Throws `InvalidFaultError`. */
  inHeader(accountId: FaultScope, text: string): RequestedFault {
    const id = `${accountId ?? ''}:${text}`;
    const held = this.#byHeader.get(id);
    if (held !== undefined) return held;
    const fault = parseFault(text);
    if (isWebhookFault(fault)) {
      throw new InvalidFaultError('Webhook faults can be set only with POST /sandbox/faults.');
    }
    const requestedFault = new RequestedFault(fault);
    this.#byHeader.set(id, requestedFault);
    return requestedFault;
  }
}
