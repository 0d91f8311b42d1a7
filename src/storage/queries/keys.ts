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

export function createKeyQueries(engine: Engine): Pick<KeyStore, 'fingerprints' | 'findCaller'> {
  const reader = new CallerReader();
  return {
    fingerprints: (fromId, limit) =>
      andThen(engine.all<{ id: bigint; fingerprint: string }>(fingerprints, fromId, limit), (rows) =>
        rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint })),
      ),
    findCaller: (fingerprint) =>
      andThen(engine.all<CallerRow>(findCaller, fingerprint), ([row]) => row && reader.callerOf(row)),
  };
}

const maxShared = 1_000;

const numberOf = (stored: bigint | null) => (stored === null ? null : Number(stored));

/**
 * Converts rows to callers. Reuses equal scope sets and equal quotas to save memory, because 100,000 callers may be
 * cached.
 */
class CallerReader {
  readonly #sets = new LRUCache<string, ReadonlySet<Scope>>({ max: maxShared });
  readonly #limits = new LRUCache<string, Pick<Caller, 'plan' | 'quota'>>({ max: maxShared });

  callerOf({ keyId, accountId, scopes, expiresAt, plan, perMinute, perDay }: CallerRow): Caller {
    const limits = reuseEqual(this.#limits, `${plan} ${perMinute} ${perDay}`, () => ({
      plan,
      quota: toQuota({ plan, perMinute: numberOf(perMinute), perDay: numberOf(perDay) }),
    }));
    return {
      keyId: Number(keyId),
      accountId: Number(accountId),
      ...limits,
      scopes: reuseEqual(this.#sets, scopes, () => new Set(parseScopes(scopes))),
      expiresAt: numberOf(expiresAt) ?? Number.POSITIVE_INFINITY,
    };
  }
}

function reuseEqual<T extends object>(cache: LRUCache<string, T>, name: string, make: () => T): T {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const made = make();
  cache.set(name, made);
  return made;
}
