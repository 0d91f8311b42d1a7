import type { keyStates } from '../contract/admin/keys.ts';
import type { Clock } from '../domain/clock.ts';
import { fingerprint, lastFour, makeKey, type RandomBytes } from '../domain/key.ts';
import type { PlanName } from '../domain/plan.ts';
import { Refusal } from '../domain/refusal.ts';
import { scopes as allScopes, defaultScopes, type Scope } from '../domain/scope.ts';
import type { Account, FirstAccount, Key, NewKey } from '../storage/storage.ts';
import { issueAs, type OperatorContext, writeAs } from './by-operator.ts';
import { notFound } from './not-found.ts';
import type { Preconditions } from './preconditions.ts';
import type { Store } from './units.ts';
import { dayOf } from './usage-reports.ts';

/** How many are read at once. */
const pageSize = 100;

export type KeyState = (typeof keyStates)[number];

/** How long a key lives: so many ms from now on, or until an instant (Unix ms); `null`: for ever. */
export type Lifetime = number | { readonly until: number } | null;

/** A key, and how it is used. */
export interface KeyInUse extends Key {
  readonly state: KeyState;
  /** Unix ms, to the minute; `null` for never. */
  readonly lastUsedAt: number | null;
  /** Since 00:00 UTC. */
  readonly requestsToday: number;
}

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

/** API keys, for operators. Processes that serve the store obey within its `staleAtMostMs`. */
export class KeyOperations {
  readonly #context: OperatorContext;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;

  constructor(context: OperatorContext, randomBytes: RandomBytes) {
    this.#context = context;
    this.#store = context.store;
    this.#clock = context.clock;
    this.#randomBytes = randomBytes;
  }

  /** Refuses `account_not_found`. */
  async create(
    accountId: number,
    name: string,
    lifetime: Lifetime = null,
    scopes: readonly Scope[] = defaultScopes,
  ): Promise<IssuedKey> {
    const account = await this.#account(accountId);
    const { key, stored } = this.#make(accountId, name, lifetime, scopes);
    const { outcome, secret } = await issueAs(this.#context, 'createKey', stored, key);
    return this.#issued(outcome, account.plan, secret);
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

  /** A page of keys, as `KeyStore.list` gives it. */
  async list(after: number, limit: number, accountId?: number): Promise<Key[]> {
    return this.#store.keys.list(after, limit, accountId);
  }

  /** All keys, of one account or of all, page by page. */
  async *all(accountId?: number): AsyncGenerator<Key, void> {
    for (let after = 0; ; ) {
      const page = await this.list(after, pageSize, accountId);
      yield* page;
      if (page.length < pageSize) return;
      after = page.at(-1)?.id ?? after;
    }
  }

  /**
   * Makes a new key of the same account; the old one ends after `graceMs`, or when it would have. The new one lives as
   * long from now on as the old one was to live, unless `lifetime` says otherwise. Refuses `key_not_found`, and `key_ended`
   * when the old key is not live any more.
   */
  async rotate(id: number, graceMs: number, lifetime?: Lifetime): Promise<IssuedKey> {
    const old = await this.find(id);
    const account = await this.#account(old.accountId);
    const { key, stored } = this.#make(
      old.accountId,
      old.name,
      lifetime === undefined ? lifetimeOf(old) : lifetime,
      old.scopes,
    );
    const rotation = { oldId: id, oldEndsAt: stored.createdAt + graceMs, successor: stored };
    const { outcome, secret } = await issueAs(this.#context, 'rotateKey', rotation, key);
    if (outcome === undefined) throw endOf(await this.find(id));
    return this.#issued(outcome, account.plan, secret);
  }

  /** Refuses `key_not_found`. */
  async revoke(id: number): Promise<void> {
    const isThere = await writeAs(this.#context, 'revokeKey', { id, at: this.#clock.now() });
    if (!isThere) throw notFound('key_not_found', id);
  }

  /** Sets what the key may do from its next request. Refuses `key_not_found` and `precondition_failed`. */
  async setScopes(id: number, scopes: readonly Scope[], preconditions: Preconditions = {}): Promise<void> {
    const isThere = await writeAs(this.#context, 'setKeyScopes', { id, scopes, preconditions });
    if (!isThere) throw notFound('key_not_found', id);
  }

  /** Refuses `key_not_found`. */
  async find(id: number): Promise<Key> {
    const key = await this.#store.keys.find(id);
    if (key === undefined) throw notFound('key_not_found', id);
    return key;
  }

  /**
   * The keys with how they are used, in their order. Those that `banned` has are banned, as `bannedIds` gives them;
   * undefined: nobody knows.
   */
  async inUse(keys: readonly Key[], banned: ReadonlySet<number> | undefined): Promise<KeyInUse[]> {
    const now = this.#clock.now();
    const ids = keys.map(({ id }) => id);
    const uses = await this.#store.usage.lastUses(ids, dayOf(now));
    const byKey = new Map(uses.map((use) => [use.keyId, use]));
    return keys.map((key) => {
      const { lastUsedAt = null, requests: requestsToday = 0 } = byKey.get(key.id) ?? {};
      return { ...key, state: stateOf(key, banned?.has(key.id), now), lastUsedAt, requestsToday };
    });
  }

  /** The keys that are banned now. Refuses `service_unavailable`: on several instances Redis has them, and may be away. */
  async bannedIds(): Promise<ReadonlySet<number>> {
    return new Set((await this.#store.limits.bans()).map(({ keyId }) => keyId));
  }

  async #account(id: number): Promise<Account> {
    const account = await this.#store.accounts.find(id);
    if (account === undefined) throw notFound('account_not_found', id);
    return account;
  }

  #issued({ id, accountId, scopes, expiresAt }: Key, plan: PlanName, key: string): IssuedKey {
    return { id, accountId, plan, key, scopes, expiresAt };
  }

  #make(
    accountId: number,
    name: string,
    lifetime: Lifetime,
    scopes: readonly Scope[],
  ): { key: string; stored: NewKey } {
    const key = makeKey(this.#randomBytes);
    const createdAt = this.#clock.now();
    const expiresAt = endOfLife(createdAt, lifetime);
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

function endOfLife(createdAt: number, lifetime: Lifetime): number | null {
  if (lifetime === null) return null;
  return typeof lifetime === 'number' ? createdAt + lifetime : lifetime.until;
}

function stateOf({ revokedAt, expiresAt }: Key, isBanned: boolean | undefined, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  if (isBanned === undefined) return 'unknown';
  return isBanned ? 'banned' : 'live';
}

/** Why a key was not rotated: whoever holds one that is not live was meant to lose access, or has it by another key. */
function endOf({ id, accountId, revokedAt, successorId }: Key): Refusal {
  const expired = successorId === null ? 'has expired' : 'was already rotated';
  const how = revokedAt === null ? expired : 'is revoked';
  const message = `Key ${id} cannot be rotated: it ${how}. Create a new key for its account, ${accountId}.`;
  return new Refusal('key_ended', { message });
}
