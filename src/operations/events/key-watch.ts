import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Scope } from '../../domain/scope.ts';
import type { LimitStore } from '../../limits/limit-store.ts';
import type { KeyStore } from '../../storage/storage.ts';
import type { Authenticated } from '../admission/admission.ts';

/** How often the keys of connected readers are checked, in ms. */
const checkEveryMs = 500;

export interface WatchStore {
  readonly keys: Pick<KeyStore, 'fingerprints' | 'findCaller'>;
  readonly limits: Pick<LimitStore, 'standing'>;
}

/** An event stream, or a request that waits for events. */
export interface EventReader {
  /** Whether a key with these scopes may read the selected events. */
  isAllowed(scopes: ReadonlySet<Scope>): boolean;
  /**
   * Called when the key is revoked, expires, is banned, or loses a required scope. The reader must then be removed with
   * `KeyWatch.leave`.
   */
  onAccessLost(): void;
}

/** State shared by the readers of one key. */
interface WatchedKey<Open> {
  readonly readers: Set<Open>;
  caller: Caller;
  /** The version of callers when the caller was loaded; -1 if the caller must be reloaded. */
  callersVersion: number;
}

/** Disconnects readers within a second of their key losing access. Uses one timer for all readers. */
export class KeyWatch<Open extends EventReader> {
  readonly #store: WatchStore;
  readonly #clock: Clock;
  readonly #byKey = new Map<number, WatchedKey<Open>>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(store: WatchStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  *all(): Iterable<Open> {
    for (const { readers } of this.#byKey.values()) yield* readers;
  }

  ofKey(keyId: number): Iterable<Open> {
    return this.#byKey.get(keyId)?.readers ?? [];
  }

  enter({ caller, versions: { callers } }: Pick<Authenticated, 'caller' | 'versions'>, reader: Open): void {
    const { keyId } = caller;
    const watched = this.#byKey.get(keyId) ?? { readers: new Set(), caller, callersVersion: callers };
    this.#byKey.set(keyId, watched);
    if (watched.callersVersion !== callers) watched.callersVersion = -1;
    watched.readers.add(reader);
    this.#timer ??= setInterval(() => this.#checkAll(), checkEveryMs).unref();
  }

  leave({ keyId }: Pick<Caller, 'keyId'>, reader: Open): void {
    const readers = this.#byKey.get(keyId)?.readers;
    readers?.delete(reader);
    if (readers?.size === 0) this.#byKey.delete(keyId);
    if (this.#byKey.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #checkAll(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // If the store is unreachable, readers stay connected without receiving events.
    void Promise.allSettled([...this.#byKey.values()].map((watched) => this.#check(watched))).finally(() => {
      this.#isChecking = false;
    });
  }

  #check(watched: WatchedKey<Open>): Awaitable<void> {
    return andThen(this.#store.limits.standing(watched.caller), ({ verdict, versions }) => {
      const isOver = verdict.errorCode === 'api_key_banned' || watched.caller.expiresAt <= this.#clock.now();
      if (isOver) for (const reader of watched.readers) reader.onAccessLost();
      else if (watched.callersVersion !== versions.callers)
        return this.#readCaller(watched, versions.callers);
    });
  }

  async #readCaller(watched: WatchedKey<Open>, callersVersion: number): Promise<void> {
    const { keyId } = watched.caller;
    const [key] = await this.#store.keys.fingerprints(keyId, 1);
    const caller = key?.id === keyId ? await this.#store.keys.findCaller(key.fingerprint) : undefined;
    for (const reader of watched.readers) {
      if (caller === undefined || !reader.isAllowed(caller.scopes)) reader.onAccessLost();
    }
    watched.caller = caller ?? watched.caller;
    watched.callersVersion = callersVersion;
  }
}
