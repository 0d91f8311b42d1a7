import type { PlanName, Quota } from '../../domain/plan.ts';
import type { NewAccount } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

export const accountUnits = {
  createAccount: {
    writes: ['callers'],
    run: ({ accounts }: Transaction, account: NewAccount) => accounts.create(account),
  },
  setPlan: {
    writes: ['callers'],
    run: ({ accounts }: Transaction, { id, plan, quota }: { id: number; plan: PlanName; quota: Quota }) =>
      accounts.setPlan(id, plan, quota),
  },
} as const satisfies Units;
