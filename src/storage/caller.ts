import { LRUCache } from 'lru-cache';
import { type Scope, scopesOfText } from '../domain/scope.ts';
import { quotaOfStored } from '../tables/accounts.ts';
import type { Caller } from './storage.ts';

/** A key with what its account may use, as SQL gives it in either dialect. */
export interface CallerRow {
  readonly keyId: bigint;
  readonly accountId: bigint;
  readonly scopes: string;
  readonly expiresAt: bigint | null;
  readonly plan: Caller['plan'];
  readonly perMinute: bigint | null;
  readonly perDay: bigint | null;
}

/** The caller with this SHA-256 of its key. Up to the parameter, it is the same statement in both dialects. */
export const selectCaller = `
  SELECT keys.id AS "keyId", account_id AS "accountId", scopes, expires_at AS "expiresAt",
         plan, per_minute AS "perMinute", per_day AS "perDay"
  FROM keys JOIN accounts ON accounts.id = account_id
  WHERE revoked_at IS NULL AND closed_at IS NULL AND fingerprint =`;

const mostShared = 1_000;

const numberOf = (stored: bigint | null) => (stored === null ? null : Number(stored));

/** Makes callers of rows. Callers with the same scopes share one set of them, those with the same limits one quota, since 100,000 may be cached. */
export class CallerReader {
  readonly #sets = new LRUCache<string, ReadonlySet<Scope>>({ max: mostShared });
  readonly #limits = new LRUCache<string, Pick<Caller, 'plan' | 'quota'>>({ max: mostShared });

  callerOf({ keyId, accountId, scopes, expiresAt, plan, perMinute, perDay }: CallerRow): Caller {
    const limits = shared(this.#limits, `${plan} ${perMinute} ${perDay}`, () => ({
      plan,
      quota: quotaOfStored({ plan, perMinute: numberOf(perMinute), perDay: numberOf(perDay) }),
    }));
    return {
      keyId: Number(keyId),
      accountId: Number(accountId),
      ...limits,
      scopes: shared(this.#sets, scopes, () => new Set(scopesOfText(scopes))),
      expiresAt: numberOf(expiresAt) ?? Number.POSITIVE_INFINITY,
    };
  }
}

function shared<T extends object>(kept: LRUCache<string, T>, name: string, make: () => T): T {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const made = make();
  kept.set(name, made);
  return made;
}
