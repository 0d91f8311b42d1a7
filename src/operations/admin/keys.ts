import type { BanStatus, FoundKey, Key as KeyView, keyOperations } from '../../contract/admin/keys.ts';
import { ApiError } from '../../contract/api-error.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { latestTime, startOfDay } from '../../domain/clock.ts';
import { computeFingerprint, generateKey, lastFour, type RandomBytes } from '../../domain/key.ts';
import type { PlanName } from '../../domain/plan.ts';
import { scopes as allScopes, defaultScopes, type Scope } from '../../domain/scope.ts';
import type { FirstAccount } from '../../storage/storage.ts';
import type { Account, Key, NewKey } from '../../tables/accounts.ts';
import { issueAs, type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { expectFoundById, ifAvailable } from '../errors.ts';
import { toAuditedKey, toIso, toIsoOrNull } from '../presenters.ts';
import { readInBatches } from '../read-in-batches.ts';
import { readPage } from '../resources/pages.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { expectNumericId, toNumericId } from './ids.ts';
import { readKeyOperations, readPeriods } from './usage.ts';

/** Lifetime of a key: a duration in ms, or an end time in Unix ms; `null` if it never expires. */
type Lifetime = number | { readonly until: number } | null;

/** A new key. This object holds the only cleartext copy of the key. */
export interface IssuedKey {
  readonly id: number;
  readonly accountId: number;
  readonly plan: PlanName;
  readonly key: string;
  readonly scopes: readonly Scope[];
  /** Unix ms; `null` if the key never expires. */
  readonly expiresAt: number | null;
}

/** API key management for operators. Changes take effect in all processes within the store's `maxStaleMs`. */
export class KeyOperations {
  readonly #context: OperatorContext;
  readonly #randomBytes: RandomBytes;

  constructor(context: OperatorContext, randomBytes: RandomBytes) {
    this.#context = context;
    this.#randomBytes = randomBytes;
  }

  /** Throws `account_not_found`. */
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

  /** Creates the first key of a new store and its account. Returns undefined if the store is not new. */
  async createFirst(
    accountName: string,
    plan: FirstAccount['plan'],
    keyName: string,
  ): Promise<IssuedKey | undefined> {
    // Keys are never deleted, so a read is enough to detect an existing key, and startup does not wait for the writer
    // or a lock.
    if ((await this.#context.store.keys.fingerprints(0, 1)).length > 0) return undefined;
    // The account id 0 is a placeholder that the unit of work replaces. The key has all scopes, because it is for the
    // owner of the store.
    const { key, stored } = this.#make(0, keyName, null, allScopes);
    const account = { name: accountName, plan, createdAt: stored.createdAt };
    const made = await this.#context.store.write('createFirstKey', { account, key: stored });
    return made && this.#issued(made, plan, key);
  }

  /**
   * Creates a new key for the same account. The old key stays valid for `graceMs`, unless it expires earlier. The new
   * key's lifetime defaults to that of the old key. Throws `key_not_found`, and `key_ended` if the old key is no longer
   * active.
   */
  async rotate(id: number, graceMs: number, lifetime?: Lifetime): Promise<IssuedKey> {
    const old = await this.find(id);
    const account = await this.#account(old.accountId);
    const oldLifetime = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
    const lives = lifetime === undefined ? oldLifetime : lifetime;
    const { key, stored } = this.#make(old.accountId, old.name, lives, old.scopes);
    const rotation = { oldId: id, oldEndsAt: stored.createdAt + graceMs, successor: stored };
    const { outcome, secret } = await issueAs(this.#context, 'rotateKey', rotation, key);
    if (outcome === undefined) throw inactiveKeyError(await this.find(id));
    return this.#issued(outcome, account.plan, secret);
  }

  /** Throws `key_not_found`. */
  async revoke(id: number): Promise<void> {
    await writeAs(this.#context, 'revokeKey', { id, at: this.#context.clock.now() });
  }

  /** Sets the scopes of a key, effective from its next request. Throws `key_not_found` and `precondition_failed`. */
  async setScopes(id: number, scopes: readonly Scope[], preconditions: Preconditions = {}): Promise<void> {
    await writeAs(this.#context, 'setKeyScopes', { id, scopes, preconditions });
  }

  /** Throws `key_not_found`. */
  async find(id: number): Promise<Key> {
    return expectFoundById(await this.#context.store.keys.find(id), 'key_not_found', id);
  }

  /** Throws `key_not_found`. */
  async banStatus(id: number): Promise<BanStatus> {
    const { limits } = this.#context.store;
    const { accountId } = await this.find(id);
    const { quota } = await this.#account(accountId);
    const { lastBan, ...status } = (await limits.standing({ keyId: id, accountId, quota })).bans;
    const { strikes: strikesToBan, withinSeconds } = limits.banRules;
    return {
      ...{ ...status, strikesToBan, withinSeconds },
      lastBan: lastBan ? { from: toIso(lastBan.from * 1_000), until: toIso(lastBan.until * 1_000) } : null,
    };
  }

  /** The state of a key. `banned` is the result of `bannedIds`, or undefined if bans cannot be read. */
  stateOf({ id, revokedAt, expiresAt }: Key, banned: ReadonlySet<number> | undefined): KeyView['state'] {
    if (revokedAt !== null) return 'revoked';
    if (expiresAt !== null && expiresAt <= this.#context.clock.now()) return 'expired';
    if (banned === undefined) return 'unknown';
    return banned.has(id) ? 'banned' : 'live';
  }

  /**
   * Returns the keys with their usage, in the same order. `banned` is the result of `bannedIds`, or undefined if bans
   * cannot be read.
   */
  async inUse(keys: readonly Key[], banned: ReadonlySet<number> | undefined): Promise<KeyView[]> {
    const now = this.#context.clock.now();
    const ids = keys.map(({ id }) => id);
    const uses = await this.#context.store.usage.lastUses(ids, startOfDay(now));
    const byKey = new Map(uses.map((use) => [use.keyId, use]));
    return keys.map((key) => {
      const { lastUsedAt = null, requests: requestsToday = 0 } = byKey.get(key.id) ?? {};
      const state = this.stateOf(key, banned);
      return { ...toAuditedKey(key), state, lastUsedAt: toIsoOrNull(lastUsedAt), requestsToday };
    });
  }

  /** The ids of banned keys. Throws `service_unavailable` if the bans are stored in Redis and Redis is unreachable. */
  async bannedIds(): Promise<ReadonlySet<number>> {
    return new Set((await this.#context.store.limits.bans()).map(({ keyId }) => keyId));
  }

  async #account(id: number): Promise<Account> {
    return expectFoundById(await this.#context.store.accounts.find(id), 'account_not_found', id);
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
    const key = generateKey(this.#randomBytes);
    const createdAt = this.#context.clock.now();
    const times = { createdAt, expiresAt: expiryOf(createdAt, lifetime) };
    const stored = { fingerprint: computeFingerprint(key), lastFour: lastFour(key), ...times };
    return { key, stored: { accountId, name, scopes, ...stored } };
  }
}

function expiryOf(createdAt: number, lifetime: Lifetime): number | null {
  if (lifetime === null) return null;
  return Math.min(typeof lifetime === 'number' ? createdAt + lifetime : lifetime.until, latestTime);
}

/** The error for rotating an inactive key. Rotation must not restore access or issue a second successor. */
function inactiveKeyError({ id, accountId, revokedAt, successorId }: Key): ApiError {
  const expired = successorId === null ? 'has expired' : 'was already rotated';
  const how = revokedAt === null ? expired : 'is revoked';
  const message = `Key ${id} cannot be rotated: it ${how}. Create a new key for its account, ${accountId}.`;
  return new ApiError('key_ended', { message });
}

const defaultGraceSeconds = 86_400;

interface Services extends Pick<OperatorContext, 'store' | 'clock'> {
  readonly keys: KeyOperations;
}

export const keyHandlers = {
  listKeys: async ({ keys, store }, { query }) => {
    const accountId = query.accountId === undefined ? undefined : toNumericId(query.accountId);
    const { state, order } = query;
    const read = (after: number | undefined, limit: number) =>
      order === 'desc'
        ? store.keys.listNewest(after, limit, { accountId })
        : store.keys.list(after ?? 0, limit, { accountId });
    return readPage(query, {
      path: '/keys',
      read: (after, limit) =>
        listKeysByState(keys, state, read, after === undefined ? undefined : toNumericId(after), limit),
    });
  },
  createKey: async ({ keys }, { params, body: { name, scopes, expiresAt } }) => {
    const accountId = expectNumericId(params.accountId, 'account_not_found');
    const lifetime = expiresAt === undefined ? null : { until: expiresAt };
    return presentIssuedKey(await keys.create(accountId, name, lifetime, scopes));
  },
  getKey: async ({ keys, store }, { params }): Promise<FoundKey> => {
    const shown = await findKeyView(keys, params);
    const predecessor = await store.keys.findBy('successor', shown.id);
    return { ...shown, predecessorId: predecessor?.id ?? null };
  },
  updateKey: async ({ keys }, { params, body: { scopes } }, { preconditions }) => {
    if (scopes !== undefined) await keys.setScopes(idOf(params), scopes, preconditions);
    return findKeyView(keys, params);
  },
  rotateKey: async ({ keys }, { params, body: { graceSeconds = defaultGraceSeconds } }) =>
    presentIssuedKey(await keys.rotate(idOf(params), graceSeconds * 1_000)),
  revokeKey: async ({ keys }, { params }) => {
    await keys.revoke(idOf(params));
    return findKeyView(keys, params);
  },
  getKeyBanStatus: async ({ keys }, { params }) => keys.banStatus(idOf(params)),
  getKeyUsage: async (services, { params, query }) => {
    const { id: keyId } = await services.keys.find(idOf(params));
    return readPeriods(services, { keyId }, query);
  },
  getKeyOperations: async (services, { params, query }) => {
    const { id } = await services.keys.find(idOf(params));
    return readKeyOperations(services, id, query);
  },
} satisfies StoreHandlersOf<Services, typeof keyOperations>;

/** Number of keys per read. The state of a key is computed rather than stored. */
const examinedBatch = 500;

/** Up to `limit` keys in the given state, or in any state. */
async function listKeysByState(
  keys: KeyOperations,
  state: KeyView['state'] | undefined,
  read: (after: number | undefined, limit: number) => Awaitable<Key[]>,
  after: number | undefined,
  limit: number,
): Promise<KeyView[]> {
  const banned = await ifAvailable(() => keys.bannedIds());
  if (state === undefined) return keys.inUse(await read(after, limit), banned);
  const found: Key[] = [];
  const readAfter = (last?: Key) => read(last?.id ?? after, examinedBatch);
  for await (const examined of readInBatches(examinedBatch, readAfter)) {
    found.push(...examined.filter((key) => keys.stateOf(key, banned) === state));
    if (found.length >= limit) break;
  }
  return keys.inUse(found.slice(0, limit), banned);
}

const idOf = ({ keyId }: { readonly keyId: bigint }) => expectNumericId(keyId, 'key_not_found');

async function findKeyView(keys: KeyOperations, params: { readonly keyId: bigint }): Promise<KeyView> {
  const [shown] = await presentKeys(keys, [await keys.find(idOf(params))]);
  return shown as KeyView;
}

/** Keys are returned even if bans cannot be read. */
export async function presentKeys(keys: KeyOperations, found: readonly Key[]): Promise<KeyView[]> {
  const banned = await ifAvailable(() => keys.bannedIds());
  return keys.inUse(found, banned);
}

function presentIssuedKey({ id, accountId, key, scopes, expiresAt }: IssuedKey) {
  return { id, accountId, key, scopes: [...scopes], expiresAt: toIsoOrNull(expiresAt) };
}
