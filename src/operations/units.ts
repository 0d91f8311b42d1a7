import type { NewPet } from '../contract/schemas.ts';
import type { PlanName, Quota } from '../domain/plan.ts';
import type { FirstAccount, ImportRun, NewAccount, NewKey, Storage } from '../storage/storage.ts';
import type { Transaction, Units, Writer } from '../storage/transaction.ts';

/** Every change of the store, as a function of a transaction. Each is run where the store is written. */
export const units = {
  createPet: { all: ({ pets }: Transaction, input: readonly NewPet[]) => pets.add(input) },

  createAccount: ({ accounts }: Transaction, account: NewAccount) => accounts.create(account),
  setPlan: ({ accounts }: Transaction, { id, plan, quota }: { id: number; plan: PlanName; quota: Quota }) =>
    accounts.setPlan(id, plan, quota),

  createKey: ({ keys }: Transaction, key: NewKey) => keys.create(key),
  createFirstKey: (
    { keys }: Transaction,
    { account, key }: { account: FirstAccount; key: Omit<NewKey, 'accountId'> },
  ) => keys.createFirst(account, key),
  rotateKey: (
    { keys }: Transaction,
    { oldId, oldEndsAt, successor }: { oldId: number; oldEndsAt: number; successor: NewKey },
  ) => keys.rotate(oldId, oldEndsAt, successor),
  revokeKey: ({ keys }: Transaction, { id, at }: { id: number; at: number }) => keys.revoke(id, at),

  commitImport: (
    { imports }: Transaction,
    { pets, run, fromLine }: { pets: readonly NewPet[]; run?: ImportRun; fromLine?: number },
  ) => imports.commit(pets, run, fromLine),
} as const satisfies Units;

/** What runs them. */
export type Writes = Writer<typeof units>;

/** A store that has them. */
export type Store = Storage<typeof units>;
