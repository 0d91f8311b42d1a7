import type { Clock } from '../domain/clock.ts';
import { fingerprint, lastFour, makeKey, type RandomBytes } from '../domain/key.ts';
import type { PlanName } from '../domain/plan.ts';
import { scopes as allScopes, defaultScopes, type Scope } from '../domain/scope.ts';
import type { Account, Ban, FirstAccount, Key, NewKey } from '../storage/storage.ts';
import { KeyEnded, NotFound } from './not-found.ts';
import type { Store } from './units.ts';

/** A key just made: the only time its text is known. */
export interface IssuedKey {
  readonly id: number;
  readonly accountId: number;
  readonly plan: PlanName;
  readonly key: string;
  readonly scopes: readonly Scope[];
  /** Unix ms; `null`: never. */
  readonly expiresAt: number | null;
}

/** API keys and their bans, for operators. Processes that serve the store obey within its `staleAtMostMs`. */
export class KeyOperations {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;

  constructor(store: Store, clock: Clock, randomBytes: RandomBytes) {
    this.#store = store;
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** `lifetimeMs` undefined: the key never expires. Throws `NotFound`. */
  async create(
    accountId: number,
    name: string,
    lifetimeMs?: number,
    scopes: readonly Scope[] = defaultScopes,
  ): Promise<IssuedKey> {
    const account = await this.#account(accountId);
    const { key, stored } = this.#make(accountId, name, lifetimeMs ?? null, scopes);
    return this.#issued(await this.#store.write('createKey', stored), account.plan, key);
  }

  /** The key a new store begins with, and its account; undefined when the store is not new. */
  async createFirst(
    accountName: string,
    plan: FirstAccount['plan'],
    keyName: string,
  ): Promise<IssuedKey | undefined> {
    // Keys are never deleted. A store that has some is told by a read, so that a start waits neither for the writer nor a lock.
    if ((await this.#store.keys.fingerprints(0, 1)).length > 0) return undefined;
    // No account has the id 0; the store puts its own in.
    // Its owner's, so it may do everything.
    const { key, stored } = this.#make(0, keyName, null, allScopes);
    const account = { name: accountName, plan, createdAt: stored.createdAt };
    const made = await this.#store.write('createFirstKey', { account, key: stored });
    return made && this.#issued(made, plan, key);
  }

  async list(): Promise<Key[]> {
    return this.#store.keys.list();
  }

  /**
   * Makes a new key of the same account; the old one ends after `graceMs`, or when it would have. The new one lives as
   * long from now on as the old one was to live, unless `lifetimeMs` says otherwise (`null`: it never expires). Throws
   * `NotFound`, and `KeyEnded` when the old key is not live any more.
   */
  async rotate(id: number, graceMs: number, lifetimeMs?: number | null): Promise<IssuedKey> {
    const old = await this.#find(id);
    const account = await this.#account(old.accountId);
    const { key, stored } = this.#make(
      old.accountId,
      old.name,
      lifetimeMs === undefined ? lifetimeOf(old) : lifetimeMs,
      old.scopes,
    );
    const successor = await this.#store.write('rotateKey', {
      oldId: id,
      oldEndsAt: stored.createdAt + graceMs,
      successor: stored,
    });
    if (successor === undefined) throw endOf(await this.#find(id));
    return this.#issued(successor, account.plan, key);
  }

  /** Throws `NotFound`. */
  async revoke(id: number): Promise<void> {
    if (!(await this.#store.write('revokeKey', { id, at: this.#clock.now() })))
      throw new NotFound('key', id, 'keys list');
  }

  /** What the key may do from the next request on. Throws `NotFound`. */
  async setScopes(id: number, scopes: readonly Scope[]): Promise<void> {
    if (!(await this.#store.write('setKeyScopes', { id, scopes })))
      throw new NotFound('key', id, 'keys list');
  }

  async bans(): Promise<Ban[]> {
    return this.#store.limits.bans();
  }

  /** Ends a key's ban, and forgets its strikes and level. Throws `NotFound`. */
  async liftBan(keyId: number): Promise<void> {
    if (!(await this.#store.limits.lift(keyId))) throw new NotFound('ban on key', keyId, 'bans list');
  }

  async #find(id: number): Promise<Key> {
    const key = await this.#store.keys.find(id);
    if (key === undefined) throw new NotFound('key', id, 'keys list');
    return key;
  }

  async #account(id: number): Promise<Account> {
    const account = await this.#store.accounts.find(id);
    if (account === undefined) throw new NotFound('account', id, 'accounts list');
    return account;
  }

  #issued({ id, accountId, scopes, expiresAt }: Key, plan: PlanName, key: string): IssuedKey {
    return { id, accountId, plan, key, scopes, expiresAt };
  }

  #make(
    accountId: number,
    name: string,
    lifetimeMs: number | null,
    scopes: readonly Scope[],
  ): { key: string; stored: NewKey } {
    const key = makeKey(this.#randomBytes);
    const createdAt = this.#clock.now();
    const expiresAt = lifetimeMs === null ? null : createdAt + lifetimeMs;
    return {
      key,
      stored: {
        accountId,
        name,
        fingerprint: fingerprint(key),
        lastFour: lastFour(key),
        scopes,
        createdAt,
        expiresAt,
      },
    };
  }
}

function lifetimeOf({ createdAt, expiresAt }: Key): number | null {
  return expiresAt === null ? null : expiresAt - createdAt;
}

/** Why a key was not rotated. */
function endOf({ id, accountId, revokedAt, successorId }: Key): KeyEnded {
  if (revokedAt !== null) return new KeyEnded(id, accountId, 'is revoked');
  return new KeyEnded(id, accountId, successorId === null ? 'has expired' : 'was already rotated');
}
