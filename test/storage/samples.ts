import type { NewPet, PetStatus } from '../../src/contract/pets.ts';
import type { Caller } from '../../src/domain/caller.ts';
import { type Quota, resolveQuota } from '../../src/domain/plan.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import type { UnitWriter } from '../../src/operations/units.ts';
import type { Account, NewKey } from '../../src/tables/accounts.ts';

/** More accounts or keys than a test creates. */
export const many = 100;

export function newPet(name: string, status: PetStatus = 'available', categoryId = 1n): NewPet {
  return { name, categoryId, status };
}

export function newKey(accountId: number, fingerprint: string, expiresAt: number | null = null): NewKey {
  return {
    accountId,
    name: 'till',
    fingerprint,
    lastFour: 'wxyz',
    scopes: defaultScopes,
    createdAt: 1_700_000_000_123,
    expiresAt,
  };
}

/** A caller on the Free plan with the default scopes, unless `given` overrides them. */
export function callerWith(given: Partial<Caller> = {}): Caller {
  const { quota } = resolveQuota('free');
  const scopes = new Set(defaultScopes);
  return {
    keyId: 1,
    accountId: 1,
    plan: 'free',
    quota,
    scopes,
    expiresAt: Number.POSITIVE_INFINITY,
    ...given,
  };
}

export async function enterprise(store: UnitWriter, quota: Quota, name = 'shop'): Promise<Account> {
  return store.write('createAccount', { name, plan: 'enterprise', quota, createdAt: 1_700_000_000_000 });
}
