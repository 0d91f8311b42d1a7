import type { Clock } from '../domain/clock.ts';
import { fingerprint, lastFour, makeKey, type RandomBytes } from '../domain/key.ts';
import type { PlanName } from '../domain/plan.ts';
import type { Account, AccountStore, Ban, Key, KeyStore, LimitStore, NewKey } from '../storage/storage.ts';
import { KeyRevoked, NotFound } from './not-found.ts';

/** A key just made: the only time its text is known. */
export interface IssuedKey {
  readonly id: number;
  readonly accountId: number;
  readonly plan: PlanName;
  readonly key: string;
}

/** API keys and their bans, for operators. Processes that serve the store obey within its `staleAtMostMs`. */
export class KeyOperations {
  readonly #keys: KeyStore;
  readonly #accounts: AccountStore;
  readonly #limits: LimitStore;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;

  constructor(
    keys: KeyStore,
    accounts: AccountStore,
    limits: LimitStore,
    clock: Clock,
    randomBytes: RandomBytes,
  ) {
    this.#keys = keys;
    this.#accounts = accounts;
    this.#limits = limits;
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** `lifetimeMs` undefined: the key never expires. Throws `NotFound`. */
  async create(accountId: number, name: string, lifetimeMs?: number): Promise<IssuedKey> {
    const account = await this.#account(accountId);
    const { key, stored } = this.#make(accountId, name, lifetimeMs);
    const { id } = await this.#keys.create(stored);
    return { id, accountId, plan: account.plan, key };
  }

  async list(): Promise<Key[]> {
    return this.#keys.list();
  }

  /** Makes a new key of the same account; the old one ends after `graceMs`, or when it would have. Throws `NotFound` and `KeyRevoked`. */
  async rotate(id: number, graceMs: number, lifetimeMs?: number): Promise<IssuedKey> {
    const old = await this.#keys.find(id);
    if (old === undefined) throw new NotFound('key', id, 'keys list');
    if (old.revokedAt !== null) throw new KeyRevoked(id, old.accountId);
    const account = await this.#account(old.accountId);
    const { key, stored } = this.#make(old.accountId, old.name, lifetimeMs);
    const successor = await this.#keys.rotate(id, this.#clock.now() + graceMs, stored);
    return { id: successor.id, accountId: old.accountId, plan: account.plan, key };
  }

  /** Throws `NotFound`. */
  async revoke(id: number): Promise<void> {
    if (!(await this.#keys.revoke(id, this.#clock.now()))) throw new NotFound('key', id, 'keys list');
  }

  async bans(): Promise<Ban[]> {
    return this.#limits.bans();
  }

  /** Ends a key's ban, and forgets its strikes and level. Throws `NotFound`. */
  async liftBan(keyId: number): Promise<void> {
    if (!(await this.#limits.lift(keyId))) throw new NotFound('ban on key', keyId, 'bans list');
  }

  async #account(id: number): Promise<Account> {
    const account = await this.#accounts.find(id);
    if (account === undefined) throw new NotFound('account', id, 'accounts list');
    return account;
  }

  #make(accountId: number, name: string, lifetimeMs?: number): { key: string; stored: NewKey } {
    const key = makeKey(this.#randomBytes);
    const createdAt = this.#clock.now();
    const expiresAt = lifetimeMs === undefined ? null : createdAt + lifetimeMs;
    return {
      key,
      stored: {
        accountId,
        name,
        fingerprint: fingerprint(key),
        lastFour: lastFour(key),
        createdAt,
        expiresAt,
      },
    };
  }
}
