import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../contract/errors.ts';
import type { Clock } from '../domain/clock.ts';
import { fingerprint, isWellFormedKey } from '../domain/key.ts';
import type { Verdict, WindowState } from '../domain/limit.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Caller, KeyStore, LimitStore, Versions } from '../storage/storage.ts';

/** How many callers are held in memory. */
const heldCallers = 100_000;
/** How often a caller that keeps changing is read again for one request. */
const mostReadings = 5;

/** What a request may send as its credential. */
export type Credential =
  | { readonly kind: 'none' | 'malformed' }
  | { readonly kind: 'key'; readonly key: string };

/** A request of a known caller, judged and counted. */
export interface Judged {
  readonly caller: Caller;
  readonly verdict: Verdict;
  readonly versions: Versions;
}

/** A request without a valid key, counted against its address. */
export interface Unknown {
  readonly caller: undefined;
  readonly refusal: ErrorCode;
  readonly state: WindowState;
}

interface HeldCaller {
  readonly caller: Caller;
  /** The version of callers under which it was read. */
  readonly version: number;
}

/** Who may come in: credential, ban and limits, in this order. */
export class AdmissionOperations {
  readonly #keys: KeyStore;
  readonly #limits: LimitStore;
  readonly #clock: Clock;
  readonly #held = new LRUCache<string, HeldCaller>({ max: heldCallers });

  constructor(keys: KeyStore, limits: LimitStore, clock: Clock) {
    this.#keys = keys;
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Judges a request and counts it: against the caller's account, or as a failure of its address. Refuses
   * `service_unavailable` while callers keep changing.
   */
  async admit(credential: Credential, address: () => string): Promise<Judged | Unknown> {
    if (credential.kind !== 'key') {
      return this.#fail(credential.kind === 'none' ? 'missing_api_key' : 'invalid_api_key', address());
    }
    const print = fingerprint(credential.key);
    let held = this.#held.get(print) ?? (await this.#find(credential.key, print));
    for (let reading = 0; reading < mostReadings; reading++) {
      if (held === undefined || held.caller.expiresAt <= this.#clock.now()) {
        return this.#fail('invalid_api_key', address());
      }
      const { verdict, versions } = await this.#limits.take(held.caller, held.version);
      if (verdict !== undefined) return { caller: held.caller, verdict, versions };
      held = await this.#read(print, versions);
    }
    // Callers change faster than they can be read: that is no reason to call the key invalid.
    throw new Refusal('service_unavailable');
  }

  /** Takes back the count of a request that is answered for nothing. */
  async refund({ caller, verdict }: Judged): Promise<Verdict> {
    return this.#limits.refund(caller, verdict);
  }

  /** What an address has left of its failed authentications. */
  async peek(address: string): Promise<WindowState> {
    return this.#limits.peek(address);
  }

  /** A caller not held yet. A key whose checksum is wrong is not looked up. */
  async #find(key: string, print: string): Promise<HeldCaller | undefined> {
    return isWellFormedKey(key) ? this.#read(print, await this.#limits.versions()) : undefined;
  }

  async #read(print: string, { callers: version }: Versions): Promise<HeldCaller | undefined> {
    const caller = await this.#keys.findCaller(print);
    if (caller === undefined) {
      this.#held.delete(print);
      return undefined;
    }
    const held = { caller, version };
    this.#held.set(print, held);
    return held;
  }

  async #fail(code: 'missing_api_key' | 'invalid_api_key', address: string): Promise<Unknown> {
    const { state, refused } = await this.#limits.fail(address);
    return { caller: undefined, refusal: refused ? 'too_many_failed_authentications' : code, state };
  }
}
