import { LRUCache } from 'lru-cache';
import { atMost } from '../domain/bounded.ts';
import { type Fault, FaultError, isOfWebhooks, parseFault } from './fault.ts';

/** Cached values of `X-Sandbox`, whose count and random sequence continue from request to request. */
const heldHeaders = 10_000;
export const maxFaults = 100;

export class AskedFault {
  readonly fault: Fault;
  hits = 0;
  /** Accounts whose limits it has changed. */
  readonly done = new Set<number>();
  #state: number;

  constructor(fault: Fault) {
    this.fault = fault;
    this.#state = fault.seed;
  }

  /** Undefined if unlimited. */
  get left(): number | undefined {
    return this.fault.times === undefined ? undefined : this.fault.times - this.hits;
  }

  /** Whether it occurs in the next request. Each call draws a random number, in the order of the requests. */
  happens(): boolean {
    if (this.left === 0 || (this.fault.rate < 1 && this.#draw() >= this.fault.rate)) return false;
    this.hits++;
    return true;
  }

  /** A number below 1, by the seed (mulberry32). */
  #draw(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}

/** The account whose requests are affected; undefined for all. */
export type FaultScope = number | undefined;

/** The active faults: of all requests, of an account's, and of single ones by their header. */
export class Faults {
  readonly #asked = new Map<FaultScope, readonly AskedFault[]>();
  readonly #byHeader = new LRUCache<string, AskedFault>(atMost(heldHeaders));

  ask(scope: FaultScope, faults: readonly Fault[]): void {
    this.#asked.set(
      scope,
      faults.map((fault) => new AskedFault(fault)),
    );
  }

  end(scope: FaultScope): void {
    if (scope === undefined) {
      this.#asked.clear();
      this.#byHeader.clear();
    } else this.#asked.delete(scope);
  }

  *all(): Generator<readonly [FaultScope, AskedFault]> {
    for (const [whose, faults] of this.#asked) for (const fault of faults) yield [whose, fault];
  }

  /** The faults of a request, in order of precedence: an account's before those of all. */
  of(accountId: FaultScope): readonly AskedFault[] {
    const ofAll = this.#asked.get(undefined) ?? [];
    return accountId === undefined ? ofAll : [...(this.#asked.get(accountId) ?? []), ...ofAll];
  }

  /** Equal headers of an account are one fault, so that `times` works. Throws `FaultError`. */
  inHeader(accountId: FaultScope, text: string): AskedFault {
    const id = `${accountId ?? ''}:${text}`;
    const held = this.#byHeader.get(id);
    if (held !== undefined) return held;
    const fault = parseFault(text);
    if (isOfWebhooks(fault)) throw new FaultError('Faults of webhooks are set with POST /sandbox/faults.');
    const asked = new AskedFault(fault);
    this.#byHeader.set(id, asked);
    return asked;
  }
}
