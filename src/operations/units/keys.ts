import { keyTagText } from '../../contract/admin/keys.ts';
import type { Scope } from '../../domain/scope.ts';
import type { FirstAccount, NewKey } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { check, type Preconditions } from '../preconditions.ts';
import { storedKey } from '../shown.ts';

export const keyUnits = {
  createKey: { writes: ['callers'], run: ({ keys }: Transaction, key: NewKey) => keys.create(key) },
  createFirstKey: {
    writes: ['callers'],
    run: (
      { keys }: Transaction,
      { account, key }: { account: FirstAccount; key: Omit<NewKey, 'accountId'> },
    ) => keys.createFirst(account, key),
  },
  rotateKey: {
    writes: ['callers'],
    run: (
      { keys }: Transaction,
      { oldId, oldEndsAt, successor }: { oldId: number; oldEndsAt: number; successor: NewKey },
    ) => keys.rotate(oldId, oldEndsAt, successor),
  },
  setKeyScopes: {
    writes: ['callers'],
    run: setScopes,
  },
  revokeKey: {
    writes: ['callers'],
    run: ({ keys }: Transaction, { id, at }: { id: number; at: number }) => keys.revoke(id, at),
  },
} as const satisfies Units;

async function setScopes(
  { keys }: Transaction,
  {
    id,
    scopes,
    preconditions,
  }: { readonly id: number; readonly scopes: readonly Scope[]; readonly preconditions: Preconditions },
): Promise<boolean> {
  const key = await keys.find(id);
  if (key === undefined) return false;
  check(preconditions, keyTagText(storedKey(key)));
  return keys.setScopes(id, scopes);
}
