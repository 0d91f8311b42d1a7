import type { NewPet, PetStatus } from '../../src/contract/pets.ts';
import type { Quota } from '../../src/domain/plan.ts';
import type { Writes } from '../../src/operations/units.ts';
import type { Account, NewKey } from '../../src/storage/storage.ts';

export function newPet(name: string, status: PetStatus = 'available', categoryId = 1n): NewPet {
  return { name, categoryId, status };
}

export function newKey(accountId: number, fingerprint: string, expiresAt: number | null = null): NewKey {
  return { accountId, name: 'till', fingerprint, lastFour: 'wxyz', createdAt: 1_700_000_000_123, expiresAt };
}

export async function enterprise(store: Writes, quota: Quota, name = 'shop'): Promise<Account> {
  return store.write('createAccount', { name, plan: 'enterprise', quota, createdAt: 1_700_000_000_000 });
}
