import { LRUCache } from 'lru-cache';
import { ApiError } from '../../contract/api-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import { computeFingerprint, isWellFormedKey } from '../../domain/key.ts';
import { maxEntries } from '../../domain/max-entries.ts';
import type { Versions } from '../../domain/resources.ts';
import { type CacheEntry, SecondChanceCache } from '../../domain/second-chance-cache.ts';
import type { Verdict, WindowState } from '../../limits/limit.ts';
import type { Admission, FailureVerdict, LimitStore } from '../../limits/limit-store.ts';
import type { KeyStore } from '../../storage/storage.ts';
import { KnownKeys } from './known-keys.ts';

const maxCallers = 100_000;
const maxUnknownKeys = 10_000;
/** Maximum number of times to reload a caller while callers are changing. */
const maxReads = 4;

export type Credential =
  | { readonly kind: 'none' | 'malformed' }
  | { readonly kind: 'key'; readonly key: string };

export interface Authenticated {
  readonly caller: Caller;
  readonly verdict: Verdict;
  readonly versions: Versions;
}

export interface Unauthenticated {
  readonly caller: undefined;
  readonly errorCode: ErrorCode;
  readonly state: WindowState;
}

/** A request to admit: the fingerprint of its key, its address, and whether it is exempt from limits. */
interface Attempt {
  readonly print: string;
  readonly address: () => string;
  readonly isFree: boolean;
}

interface CachedCaller extends CacheEntry {
  readonly caller: Caller;
  readonly version: number;
}

/** Checks the credential, the ban and the limits, in this order. */
export class AdmissionOperations {
  readonly #keys: KeyStore;
  readonly #limits: LimitStore;
  readonly #clock: Clock;
  readonly #changed: (change: CallerChange) => void;
  readonly #cached = new SecondChanceCache<string, CachedCaller>(maxCallers);
  readonly #known: KnownKeys;
  /** Keys that were not found, each with the version of callers at the time of the lookup. */
  readonly #unknownKeys = new LRUCache<string, number>(maxEntries(maxUnknownKeys));

  /** `changed` is called with an operator's changes to a cached caller when its key is next used. */
  constructor(
    keys: KeyStore,
    limits: LimitStore,
    clock: Clock,
    changed: (change: CallerChange) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#known = new KnownKeys(keys);
    this.#limits = limits;
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * Counts a request against its account, unless its operation is exempt from limits. A failed authentication is
   * counted against the client's address. Throws `service_unavailable`.
   */
  admit(
    credential: Credential,
    address: () => string,
    isFree = false,
  ): Awaitable<Authenticated | Unauthenticated> {
    if (credential.kind !== 'key') {
      return this.#fail(credential.kind === 'none' ? 'missing_api_key' : 'invalid_api_key', address());
    }
    const { key } = credential;
    const print = computeFingerprint(key);
    const attempt = { print, address, isFree };
    const held = this.#cached.get(print);
    if (held !== undefined) return this.#decide(attempt, held, maxReads);
    // A wrong checksum means a typo, so no lookup is needed.
    if (!isWellFormedKey(key)) return this.#fail('invalid_api_key', address());
    return this.#lookUp(attempt, maxReads);
  }

  /**
   * Checks an admitted request again, without counting it. Returns it with the current scopes if callers have changed
   * since; undefined if its key is no longer valid. A body may arrive seconds after the request was admitted.
   */
  confirm(admitted: Authenticated, credential: Credential): Awaitable<Authenticated | undefined> {
    const isExpired = this.#isExpired(admitted.caller);
    if (isExpired || credential.kind !== 'key') return undefined;
    if (this.#limits.knownVersions().callers === admitted.versions.callers) return admitted;
    return andThen(this.#limits.versions(), (versions) =>
      andThen(this.#read(computeFingerprint(credential.key), versions), (held) =>
        held === undefined || this.#isExpired(held.caller)
          ? undefined
          : { ...admitted, caller: held.caller, versions },
      ),
    );
  }

  refund({ caller, verdict }: Authenticated): Awaitable<Verdict> {
    return this.#limits.refund(caller, verdict);
  }

  peek(address: string): Awaitable<WindowState> {
    return this.#limits.peek(address);
  }

  #decide(
    attempt: Attempt,
    held: CachedCaller | undefined,
    readingsLeft: number,
  ): Awaitable<Authenticated | Unauthenticated> {
    if (held === undefined || this.#isExpired(held.caller)) {
      return this.#fail('invalid_api_key', attempt.address());
    }
    const { caller, version } = held;
    const decided = attempt.isFree ? this.#peek(held) : this.#limits.take(caller, version);
    return andThen(decided, ({ verdict, versions }) => {
      if (verdict !== undefined) return { caller, verdict, versions };
      // Callers changed during every read, so it is unknown whether the key is valid.
      if (readingsLeft === 0) throw new ApiError('service_unavailable');
      return andThen(this.#read(attempt.print, versions), (again) =>
        this.#decide(attempt, again, readingsLeft - 1),
      );
    });
  }

  /** Reads the clock only for keys that expire, because most never do. */
  #isExpired({ expiresAt }: Caller): boolean {
    return expiresAt !== Number.POSITIVE_INFINITY && expiresAt <= this.#clock.now();
  }

  #peek({ caller, version }: CachedCaller): Awaitable<Admission> {
    return andThen(this.#limits.standing(caller), ({ verdict, versions }) => ({
      verdict: versions.callers === version ? verdict : undefined,
      versions,
    }));
  }

  /** Rejects keys known not to exist without a lookup, unless callers have changed since. Looks up all other keys. */
  #lookUp(attempt: Attempt, readingsLeft: number): Awaitable<Authenticated | Unauthenticated> {
    const { print, address } = attempt;
    const { version } = this.#known;
    const mayExist = version === undefined || this.#known.mayHave(print);
    const unknownUnder = mayExist ? this.#unknownKeys.get(print) : version;
    if (unknownUnder !== undefined) {
      return andThen(this.#limits.failUnder(address(), unknownUnder), (failure) =>
        failure === undefined
          ? this.#lookUpAgain(attempt, readingsLeft)
          : toUnauthenticated('invalid_api_key', failure),
      );
    }
    return andThen(this.#limits.versions(), (versions) => {
      if (version === undefined) this.#known.begin(versions.callers);
      return andThen(this.#read(print, versions), (held) =>
        held === undefined ? this.#lookUp(attempt, readingsLeft) : this.#decide(attempt, held, readingsLeft),
      );
    });
  }

  #lookUpAgain(attempt: Attempt, readingsLeft: number): Awaitable<Authenticated | Unauthenticated> {
    if (readingsLeft === 0) throw new ApiError('service_unavailable');
    this.#unknownKeys.delete(attempt.print);
    return andThen(this.#limits.versions(), ({ callers }) =>
      andThen(this.#known.read(callers), () => this.#lookUp(attempt, readingsLeft - 1)),
    );
  }

  #read(print: string, { callers: version }: Versions): Awaitable<CachedCaller | undefined> {
    return andThen(this.#keys.findCaller(print), (caller) => {
      const before = this.#cached.get(print)?.caller;
      if (before !== undefined) compareCallers(before, caller).forEach(this.#changed);
      if (caller === undefined) {
        this.#cached.delete(print);
        this.#unknownKeys.set(print, version);
        return undefined;
      }
      const held = { caller, version, isRecent: false };
      this.#cached.set(print, held);
      return held;
    });
  }

  #fail(code: 'missing_api_key' | 'invalid_api_key', address: string): Awaitable<Unauthenticated> {
    return andThen(this.#limits.fail(address), (failure) => toUnauthenticated(code, failure));
  }
}

function toUnauthenticated(
  code: 'missing_api_key' | 'invalid_api_key',
  { state, refused }: FailureVerdict,
): Unauthenticated {
  return { caller: undefined, errorCode: refused ? 'too_many_failed_authentications' : code, state };
}

/** An operator's change to a key or its account, detected when the key is next used. */
interface CallerChange {
  readonly message: string;
  readonly fields: Readonly<Record<string, number | string | null>>;
}

/** The changes to a caller. `after` is undefined if its key is no longer valid. */
function compareCallers(before: Caller, after: Caller | undefined): CallerChange[] {
  const key = { key: before.keyId, account: before.accountId };
  if (after === undefined) return [{ message: 'API key revoked', fields: key }];
  const changes: CallerChange[] = [];
  if (after.expiresAt !== before.expiresAt) {
    const expiresAt = Number.isFinite(after.expiresAt) ? new Date(after.expiresAt).toISOString() : null;
    changes.push({ message: 'API key expiry changed', fields: { ...key, expiresAt } });
  }
  const { perMinute, perDay } = after.quota;
  if (perMinute !== before.quota.perMinute || perDay !== before.quota.perDay) {
    changes.push({ message: 'account limits changed', fields: { account: key.account, perMinute, perDay } });
  }
  return changes;
}

/**
 * While a request waited for events or for its body, its key was revoked or banned, has expired, or has lost a scope. The
 * request must be admitted again.
 */
export class CallerChanged extends Error {}
