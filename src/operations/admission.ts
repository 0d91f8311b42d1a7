import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../contract/errors.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import { atMost } from '../domain/bounded.ts';
import type { Clock } from '../domain/clock.ts';
import { fingerprint, isWellFormedKey } from '../domain/key.ts';
import type { Verdict, WindowState } from '../domain/limit.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Caller, KeyStore, LimitStore, Versions } from '../storage/storage.ts';
import { type CallerChange, callerChanges } from './caller-changes.ts';

/** How many callers are held in memory. */
const heldCallers = 100_000;
/** How often a caller that keeps changing is read again for one request. */
const mostReadings = 4;

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
  readonly #changed: (change: CallerChange) => void;
  readonly #held = new LRUCache<string, HeldCaller>(atMost(heldCallers));

  /** `changed` is told what operators changed about callers that are held, when their key is used next. */
  constructor(
    keys: KeyStore,
    limits: LimitStore,
    clock: Clock,
    changed: (change: CallerChange) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#limits = limits;
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * Judges a request and counts it: against the caller's account, or as a failure of its address. Refuses
   * `service_unavailable` while callers keep changing.
   */
  admit(credential: Credential, address: () => string): Awaitable<Judged | Unknown> {
    if (credential.kind !== 'key') {
      return this.#fail(credential.kind === 'none' ? 'missing_api_key' : 'invalid_api_key', address());
    }
    const { key } = credential;
    const print = fingerprint(key);
    return andThen(this.#held.get(print) ?? this.#find(key, print), (held) =>
      this.#judge(print, held, address, mostReadings),
    );
  }

  /** Takes back the count of a request that is answered for nothing. */
  refund({ caller, verdict }: Judged): Awaitable<Verdict> {
    return this.#limits.refund(caller, verdict);
  }

  /** What an address has left of its failed authentications. */
  peek(address: string): Awaitable<WindowState> {
    return this.#limits.peek(address);
  }

  #judge(
    print: string,
    held: HeldCaller | undefined,
    address: () => string,
    readingsLeft: number,
  ): Awaitable<Judged | Unknown> {
    if (held === undefined || held.caller.expiresAt <= this.#clock.now()) {
      return this.#fail('invalid_api_key', address());
    }
    const { caller, version } = held;
    return andThen(this.#limits.take(caller, version), ({ verdict, versions }) => {
      if (verdict !== undefined) return { caller, verdict, versions };
      // Callers change faster than they can be read: that is no reason to call the key invalid.
      if (readingsLeft === 0) throw new Refusal('service_unavailable');
      return andThen(this.#read(print, versions), (again) =>
        this.#judge(print, again, address, readingsLeft - 1),
      );
    });
  }

  /** A caller not held yet. A key whose checksum is wrong is not looked up. */
  #find(key: string, print: string): Awaitable<HeldCaller | undefined> {
    if (!isWellFormedKey(key)) return undefined;
    return andThen(this.#limits.versions(), (versions) => this.#read(print, versions));
  }

  #read(print: string, { callers: version }: Versions): Awaitable<HeldCaller | undefined> {
    return andThen(this.#keys.findCaller(print), (caller) => {
      const before = this.#held.get(print)?.caller;
      if (before !== undefined) callerChanges(before, caller).forEach(this.#changed);
      if (caller === undefined) {
        this.#held.delete(print);
        return undefined;
      }
      const held = { caller, version };
      this.#held.set(print, held);
      return held;
    });
  }

  #fail(code: 'missing_api_key' | 'invalid_api_key', address: string): Awaitable<Unknown> {
    return andThen(this.#limits.fail(address), ({ state, refused }) => ({
      caller: undefined,
      refusal: refused ? 'too_many_failed_authentications' : code,
      state,
    }));
  }
}
