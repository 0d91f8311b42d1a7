import { LRUCache } from 'lru-cache';
import { andThen } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import { parseScopes, type Scope } from '../../domain/scope.ts';
import { toQuota } from '../../tables/accounts.ts';
import type { KeyStore } from '../storage.ts';
import type { Engine } from './engine.ts';

/** A key and the limits of its account. */
interface CallerRow {
  readonly keyId: bigint;
  readonly accountId: bigint;
  readonly scopes: string;
  readonly expiresAt: bigint | null;
  readonly plan: Caller['plan'];
  readonly perMinute: bigint | null;
  readonly perDay: bigint | null;
}

const fingerprints = 'SELECT id, fingerprint FROM keys WHERE id >= $1 ORDER BY id LIMIT $2';

/** Selects the caller whose key has this SHA-256. */
const findCaller = `
  SELECT keys.id AS "keyId", account_id AS "accountId", scopes, expires_at AS "expiresAt",
         plan, per_minute AS "perMinute", per_day AS "perDay"
  FROM keys JOIN accounts ON accounts.id = account_id
  WHERE revoked_at IS NULL AND closed_at IS NULL AND fingerprint = $1`;

const maxShared = 1_000;

const numberOf = (stored: bigint | null) => (stored === null ? null : Number(stored));

/**
 * Reuses equal scope sets and equal quotas of callers to save memory, because 100,000 callers may be cached.
 */
export function createKeyQueries(engine: Engine): Pick<KeyStore, 'fingerprints' | 'findCaller'> {
  const sets = new LRUCache<string, ReadonlySet<Scope>>({ max: maxShared });
  const limits = new LRUCache<string, Pick<Caller, 'plan' | 'quota'>>({ max: maxShared });
  const toCaller = (row: CallerRow): Caller => {
    const { keyId, accountId, scopes, expiresAt, plan, perMinute, perDay } = row;
    return {
      keyId: Number(keyId),
      accountId: Number(accountId),
      ...reuseEqual(limits, `${plan} ${perMinute} ${perDay}`, () => ({
        plan,
        quota: toQuota({ plan, perMinute: numberOf(perMinute), perDay: numberOf(perDay) }),
      })),
      scopes: reuseEqual(sets, scopes, () => new Set(parseScopes(scopes))),
      expiresAt: numberOf(expiresAt) ?? Number.POSITIVE_INFINITY,
    };
  };
  return {
    fingerprints: (fromId, limit) =>
      andThen(engine.all<{ id: bigint; fingerprint: string }>(fingerprints, fromId, limit), (rows) =>
        rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint })),
      ),
    findCaller: (fingerprint) =>
      andThen(engine.all<CallerRow>(findCaller, fingerprint), ([row]) => row && toCaller(row)),
  };
}

function reuseEqual<T extends object>(cache: LRUCache<string, T>, name: string, make: () => T): T {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const made = make();
  cache.set(name, made);
  return made;
}
