import { LRUCache } from 'lru-cache';
import { type Scope, scopesOfText } from '../domain/scope.ts';
import { type QuotaColumns, quotaOfRow } from './account-row.ts';
import type { Caller, Key } from './storage.ts';

/** A key as SQL gives it, in either dialect: integers are `bigint`. */
export interface KeyRow {
  readonly id: bigint;
  readonly accountId: bigint;
  readonly name: string;
  readonly lastFour: string;
  readonly scopes: string;
  readonly createdAt: bigint;
  readonly expiresAt: bigint | null;
  readonly revokedAt: bigint | null;
  readonly successorId: bigint | null;
}

export function keyOfRow(row: KeyRow): Key {
  return {
    id: Number(row.id),
    accountId: Number(row.accountId),
    name: row.name,
    lastFour: row.lastFour,
    scopes: scopesOfText(row.scopes),
    createdAt: Number(row.createdAt),
    expiresAt: row.expiresAt === null ? null : Number(row.expiresAt),
    revokedAt: row.revokedAt === null ? null : Number(row.revokedAt),
    successorId: row.successorId === null ? null : Number(row.successorId),
  };
}

/** A key with what its account may use. */
export interface CallerRow extends QuotaColumns {
  readonly keyId: bigint;
  readonly accountId: bigint;
  readonly scopes: string;
  readonly expiresAt: bigint | null;
}

/** How many different sets of scopes, and limits, are kept to be shared. */
const mostShared = 1_000;

/** Makes callers of rows. Those with the same scopes share one set of them, and those with the same limits one quota, for there may be 100,000 of them in memory. */
export class CallerReader {
  readonly #sets = new LRUCache<string, ReadonlySet<Scope>>({ max: mostShared });
  readonly #limits = new LRUCache<string, Pick<Caller, 'plan' | 'quota'>>({ max: mostShared });

  callerOf(row: CallerRow): Caller {
    const { plan, quota } = shared(this.#limits, `${row.plan} ${row.perMinute} ${row.perDay}`, () => ({
      plan: row.plan,
      quota: quotaOfRow(row),
    }));
    return {
      keyId: Number(row.keyId),
      accountId: Number(row.accountId),
      plan,
      quota,
      scopes: shared(this.#sets, row.scopes, () => new Set(scopesOfText(row.scopes))),
      expiresAt: row.expiresAt === null ? Number.POSITIVE_INFINITY : Number(row.expiresAt),
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
