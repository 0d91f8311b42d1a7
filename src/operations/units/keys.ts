import type { Scope } from '../../domain/scope.ts';
import type { FirstAccount, NewKey } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

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
    run: ({ keys }: Transaction, { id, scopes }: { id: number; scopes: readonly Scope[] }) =>
      keys.setScopes(id, scopes),
  },
  revokeKey: {
    writes: ['callers'],
    run: ({ keys }: Transaction, { id, at }: { id: number; at: number }) => keys.revoke(id, at),
  },
} as const satisfies Units;
