import type { keyOperations, Key as ShownKey } from '../../contract/admin/keys.ts';
import { Refusal } from '../../contract/refusal.ts';
import { dayOf } from '../../domain/clock.ts';
import { fingerprint, lastFour, makeKey, type RandomBytes } from '../../domain/key.ts';
import type { PlanName } from '../../domain/plan.ts';
import { scopes as allScopes, defaultScopes, type Scope } from '../../domain/scope.ts';
import type { FirstAccount } from '../../storage/storage.ts';
import type { Account, Key, NewKey } from '../../tables/accounts.ts';
import { issueAs, type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { foundById, ifAvailable, invalidMember } from '../refusals.ts';
import { pageOf } from '../resources/pages.ts';
import { isoOrNull, storedKey } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { UsageReports } from './usage.ts';

/** Lifetime of a key: a number of ms from now, or until an instant (Unix ms); `null` for unlimited. */
type Lifetime = number | { readonly until: number } | null;

/** A new key. Its text is known only here. */
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
  readonly #randomBytes: RandomBytes;

  constructor(context: OperatorContext, randomBytes: RandomBytes) {
    this.#context = context;
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
    // Keys are never deleted. A read recognizes a store that has some, so that a start waits neither for the writer nor for a lock.
    if ((await this.#context.store.keys.fingerprints(0, 1)).length > 0) return undefined;
    // No account has the id 0; the store puts its own in.
    // Its owner's, so it may do everything.
    const { key, stored } = this.#make(0, keyName, null, allScopes);
    const account = { name: accountName, plan, createdAt: stored.createdAt };
    const made = await this.#context.store.write('createFirstKey', { account, key: stored });
    return made && this.#issued(made, plan, key);
  }

  /**
   * Makes a new key of the same account; the old one ends after `graceMs`, or when it would have. The new one lives as
   * long from now on as the old one was to live, unless `lifetime` says otherwise. Refuses `key_not_found`, and `key_ended`
   * when the old key is not live any more.
   */
  async rotate(id: number, graceMs: number, lifetime?: Lifetime): Promise<IssuedKey> {
    const old = await this.find(id);
    const account = await this.#account(old.accountId);
    const lives = lifetime === undefined ? lifetimeOf(old) : lifetime;
    const { key, stored } = this.#make(old.accountId, old.name, lives, old.scopes);
    const rotation = { oldId: id, oldEndsAt: stored.createdAt + graceMs, successor: stored };
    const { outcome, secret } = await issueAs(this.#context, 'rotateKey', rotation, key);
    if (outcome === undefined) throw endOf(await this.find(id));
    return this.#issued(outcome, account.plan, secret);
  }

  /** Refuses `key_not_found`. */
  async revoke(id: number): Promise<void> {
    const hasKey = await writeAs(this.#context, 'revokeKey', { id, at: this.#context.clock.now() });
    foundById(hasKey || undefined, 'key_not_found', id);
  }

  /** Sets what the key may do from its next request. Refuses `key_not_found` and `precondition_failed`. */
  async setScopes(id: number, scopes: readonly Scope[], preconditions: Preconditions = {}): Promise<void> {
    const hasKey = await writeAs(this.#context, 'setKeyScopes', { id, scopes, preconditions });
    foundById(hasKey || undefined, 'key_not_found', id);
  }

  /** Refuses `key_not_found`. */
  async find(id: number): Promise<Key> {
    return foundById(await this.#context.store.keys.find(id), 'key_not_found', id);
  }

  /** The keys with their use, in order. `banned` is as `bannedIds` returns it; undefined while bans cannot be read. */
  async inUse(keys: readonly Key[], banned: ReadonlySet<number> | undefined): Promise<ShownKey[]> {
    const now = this.#context.clock.now();
    const ids = keys.map(({ id }) => id);
    const uses = await this.#context.store.usage.lastUses(ids, dayOf(now));
    const byKey = new Map(uses.map((use) => [use.keyId, use]));
    return keys.map((key) => {
      const { lastUsedAt = null, requests: requestsToday = 0 } = byKey.get(key.id) ?? {};
      const state = stateOf(key, banned?.has(key.id), now);
      return { ...storedKey(key), state, lastUsedAt: isoOrNull(lastUsedAt), requestsToday };
    });
  }

  /** The keys that are banned now. Refuses `service_unavailable`: on several instances Redis has them, and may be away. */
  async bannedIds(): Promise<ReadonlySet<number>> {
    return new Set((await this.#context.store.limits.bans()).map(({ keyId }) => keyId));
  }

  async #account(id: number): Promise<Account> {
    return foundById(await this.#context.store.accounts.find(id), 'account_not_found', id);
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
    const createdAt = this.#context.clock.now();
    const times = { createdAt, expiresAt: endOfLife(createdAt, lifetime) };
    const stored = { fingerprint: fingerprint(key), lastFour: lastFour(key), ...times };
    return { key, stored: { accountId, name, scopes, ...stored } };
  }
}

function lifetimeOf({ createdAt, expiresAt }: Key): number | null {
  return expiresAt === null ? null : expiresAt - createdAt;
}

function endOfLife(createdAt: number, lifetime: Lifetime): number | null {
  if (lifetime === null) return null;
  return typeof lifetime === 'number' ? createdAt + lifetime : lifetime.until;
}

function stateOf(
  { revokedAt, expiresAt }: Key,
  isBanned: boolean | undefined,
  now: number,
): ShownKey['state'] {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  if (isBanned === undefined) return 'unknown';
  return isBanned ? 'banned' : 'live';
}

/** Why a key was not rotated: the holder of an ended key was meant to lose access, or has its successor. */
function endOf({ id, accountId, revokedAt, successorId }: Key): Refusal {
  const expired = successorId === null ? 'has expired' : 'was already rotated';
  const how = revokedAt === null ? expired : 'is revoked';
  const message = `Key ${id} cannot be rotated: it ${how}. Create a new key for its account, ${accountId}.`;
  return new Refusal('key_ended', { message });
}

const defaultGraceSeconds = 86_400;

interface Services extends Pick<OperatorContext, 'store' | 'clock'> {
  readonly keys: KeyOperations;
  readonly usage: UsageReports;
}

export const keyHandlers = {
  listKeys: async ({ keys, store }, { query }) => {
    const accountId = query.accountId === undefined ? undefined : Number(query.accountId);
    const { items, next } = await pageOf(query, {
      path: '/keys',
      read: (after = 0n, limit) => store.keys.list(Number(after), limit, { accountId }),
    });
    return { items: await shownKeys(keys, items), next };
  },
  createKey: async ({ keys, clock }, { params, body: { name, scopes, expiresAt } }) => {
    if (expiresAt !== undefined && expiresAt <= clock.now())
      throw invalidMember('expiresAt', 'must be in the future');
    const lifetime = expiresAt === undefined ? null : { until: expiresAt };
    return shownIssued(await keys.create(Number(params.accountId), name, lifetime, scopes));
  },
  getKey: ({ keys }, { params }) => findShown(keys, params),
  updateKey: async ({ keys }, { params, body: { scopes } }, { preconditions }) => {
    if (scopes !== undefined) await keys.setScopes(Number(params.keyId), scopes, preconditions);
    return findShown(keys, params);
  },
  rotateKey: async ({ keys }, { params, body: { graceSeconds = defaultGraceSeconds } }) =>
    shownIssued(await keys.rotate(Number(params.keyId), graceSeconds * 1_000)),
  revokeKey: async ({ keys }, { params }) => {
    await keys.revoke(Number(params.keyId));
    return findShown(keys, params);
  },
  getKeyUsage: async ({ keys, usage }, { params, query }) => {
    const { id: keyId } = await keys.find(Number(params.keyId));
    return usage.periods({ keyId }, query);
  },
} satisfies HandlersOf<Services, typeof keyOperations>;

async function findShown(keys: KeyOperations, { keyId }: { readonly keyId: bigint }): Promise<ShownKey> {
  const [shown] = await shownKeys(keys, [await keys.find(Number(keyId))]);
  return shown as ShownKey;
}

/** Keys are shown even while it cannot be read which are banned. */
async function shownKeys(keys: KeyOperations, found: readonly Key[]): Promise<ShownKey[]> {
  const banned = await ifAvailable(() => keys.bannedIds());
  return keys.inUse(found, banned);
}

function shownIssued({ id, accountId, key, scopes, expiresAt }: IssuedKey) {
  return { id, accountId, key, scopes: [...scopes], expiresAt: isoOrNull(expiresAt) };
}
