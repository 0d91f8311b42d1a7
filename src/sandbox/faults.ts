import { LRUCache } from 'lru-cache';
import { atMost } from '../domain/bounded.ts';
import { type Fault, parseFault } from './fault.ts';

/** Texts of `X-Sandbox` whose count and chance go on from request to request. */
const heldHeaders = 10_000;
/** How many can be asked for at once. */
export const mostFaults = 100;

/** A fault that was asked for, and what became of it. */
export class AskedFault {
  readonly fault: Fault;
  /** How many requests it happened to. */
  hits = 0;
  /** Accounts whose limits it has changed. */
  readonly done = new Set<number>();
  #state: number;

  constructor(fault: Fault) {
    this.fault = fault;
    this.#state = fault.seed;
  }

  /** Undefined when it goes on until it is ended. */
  get left(): number | undefined {
    return this.fault.times === undefined ? undefined : this.fault.times - this.hits;
  }

  /** Whether it happens to the next request. Each call is a draw, in the order of the requests. */
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

/** Whose requests: of an account, or of all. */
export type Whose = number | undefined;

/** The faults that were asked for: of all requests, of those of an account, and of single ones by their header. */
export class Faults {
  readonly #asked = new Map<Whose, readonly AskedFault[]>();
  readonly #byHeader = new LRUCache<string, AskedFault>(atMost(heldHeaders));

  /** From now on these, in place of those asked for of the same requests before. */
  ask(whose: Whose, faults: readonly Fault[]): void {
    this.#asked.set(
      whose,
      faults.map((fault) => new AskedFault(fault)),
    );
  }

  /** Ends those of an account, or all. */
  end(whose: Whose): void {
    if (whose === undefined) {
      this.#asked.clear();
      this.#byHeader.clear();
    } else this.#asked.delete(whose);
  }

  /** Those asked for by `ask`. */
  *all(): Generator<readonly [Whose, AskedFault]> {
    for (const [whose, faults] of this.#asked) for (const fault of faults) yield [whose, fault];
  }

  /** What a request may meet, first come first: an account's own go before those of all. */
  of(accountId: Whose): readonly AskedFault[] {
    const ofAll = this.#asked.get(undefined) ?? [];
    return accountId === undefined ? ofAll : [...(this.#asked.get(accountId) ?? []), ...ofAll];
  }

  /** What a request asks for itself; equal ones of one account are one fault, so that it can count. Throws `FaultError`. */
  inHeader(accountId: Whose, text: string): AskedFault {
    const id = `${accountId ?? ''}:${text}`;
    const held = this.#byHeader.get(id);
    if (held !== undefined) return held;
    const asked = new AskedFault(parseFault(text));
    this.#byHeader.set(id, asked);
    return asked;
  }
}
