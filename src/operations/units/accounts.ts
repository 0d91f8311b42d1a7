import { accountTagText } from '../../contract/admin/accounts.ts';
import type { PlanName, Quota } from '../../domain/plan.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Account, NewAccount } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { check, type Preconditions } from '../preconditions.ts';
import { shownAccount } from '../shown.ts';

export interface Limits {
  readonly plan: PlanName;
  readonly quota: Quota;
}

/** What changes about an account; what is undefined stays. */
export interface AccountChange {
  readonly id: number;
  readonly name?: string | undefined;
  readonly limits?: Limits | undefined;
  /** The limits that these were derived from: if the account has others by now, `precondition_failed` is refused. */
  readonly basis?: Limits | undefined;
  /** Unix ms. */
  readonly closedAt?: number | null;
  readonly preconditions?: Preconditions | undefined;
}

/** Changes the account; undefined when there is none. Closing it twice keeps the first instant. */
async function change(
  { accounts }: Transaction,
  { id, name, limits, basis, closedAt, preconditions = {} }: AccountChange,
): Promise<Account | undefined> {
  const account = await accounts.find(id);
  if (account === undefined) return undefined;
  check(preconditions, accountTagText(shownAccount(account)));
  if (basis !== undefined && !isSame(account, basis)) throw new Refusal('precondition_failed');
  const changed: Account = {
    ...account,
    name: name ?? account.name,
    ...limits,
    closedAt: closedAt === undefined ? account.closedAt : closedAt && (account.closedAt ?? closedAt),
  };
  await accounts.replace(changed);
  return changed;
}

function isSame(one: Limits, other: Limits): boolean {
  const [a, b] = [one.quota, other.quota];
  return one.plan === other.plan && a.perMinute === b.perMinute && a.perDay === b.perDay;
}

export const accountUnits = {
  createAccount: {
    writes: ['callers'],
    run: ({ accounts }: Transaction, account: NewAccount) => accounts.create(account),
  },
  updateAccount: { writes: ['callers'], run: change },
  closeAccount: { writes: ['callers'], run: change },
  reopenAccount: { writes: ['callers'], run: change },
} as const satisfies Units;
