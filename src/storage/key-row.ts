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

/** Stored texts of scopes whose sets are kept. There are as many as there are ways to choose from a few words. */
const mostSets = 1_000;

/** Makes callers of rows. Those with the same scopes share one set of them. */
export class CallerReader {
  readonly #sets = new LRUCache<string, ReadonlySet<Scope>>({ max: mostSets });

  callerOf(row: CallerRow): Caller {
    return {
      keyId: Number(row.keyId),
      accountId: Number(row.accountId),
      plan: row.plan,
      quota: quotaOfRow(row),
      scopes: this.#setOf(row.scopes),
      expiresAt: row.expiresAt === null ? Number.POSITIVE_INFINITY : Number(row.expiresAt),
    };
  }

  #setOf(text: string): ReadonlySet<Scope> {
    const known = this.#sets.get(text);
    if (known !== undefined) return known;
    const set = new Set(scopesOfText(text));
    this.#sets.set(text, set);
    return set;
  }
}
