import { ApiError } from '../../contract/api-error.ts';
import { maxWebhooks } from '../../contract/bounds.ts';
import type { Transaction } from '../../storage/transaction.ts';
import type { Account, NewAccount } from '../../tables/accounts.ts';
import { type AuditedUnits, defineSubject } from '../changes/audited-unit.ts';
import { checkPreconditions, type Preconditions } from '../changes/preconditions.ts';
import { presentAccount } from '../presenters.ts';
import { webhookDisabledEvent } from './webhooks.ts';

type Limits = Pick<Account, 'plan' | 'quota'>;

interface AccountChange {
  readonly id: number;
  readonly name?: string | undefined;
  readonly limits?: Limits | undefined;
  /**
   * The limits from which the new limits were derived. The unit throws `precondition_failed` if the account no longer
   * has these limits.
   */
  readonly basis?: Limits | undefined;
  /** Unix ms. */
  readonly closedAt?: number | null;
  readonly note?: string | null | undefined;
  readonly preconditions?: Preconditions | undefined;
}

type Closing = AccountChange & { readonly closedAt: number };

/** `disabledReason` of the webhooks of a closed account. */
const closedReason = 'account_closed';

/**
 * Changes the account; returns undefined if it does not exist. Closing an account twice keeps the first closing time.
 */
async function change(
  { accounts }: Transaction,
  { id, name, limits, basis, closedAt, note, preconditions = {} }: AccountChange,
): Promise<Account | undefined> {
  const account = await accounts.find(id);
  if (account === undefined) return undefined;
  checkPreconditions(preconditions, JSON.stringify(presentAccount(account)));
  if (basis !== undefined && !hasSameLimits(account, basis)) throw new ApiError('precondition_failed');
  const changed: Account = {
    ...account,
    name: name ?? account.name,
    ...limits,
    note: note === undefined ? account.note : note,
    closedAt: closedAt === undefined ? account.closedAt : closedAt && (account.closedAt ?? closedAt),
  };
  const { createdAt: _, ...changes } = changed;
  await accounts.update(id, changes);
  return changed;
}

/** Also disables the account's webhooks. */
async function close(transaction: Transaction, closing: Closing): Promise<Account | undefined> {
  const closed = await change(transaction, closing);
  if (closed === undefined) return undefined;
  const { webhooks, events } = transaction;
  const enabled = await webhooks.list(undefined, maxWebhooks, { accountId: closed.id, enabled: true });
  for (const webhook of enabled) {
    await webhooks.update(webhook.id, { enabled: false, disabledReason: closedReason });
    events.add(webhookDisabledEvent(webhook, closedReason, closing.closedAt));
  }
  return closed;
}

function hasSameLimits(one: Limits, other: Limits): boolean {
  const [a, b] = [one.quota, other.quota];
  return one.plan === other.plan && a.perMinute === b.perMinute && a.perDay === b.perDay;
}

const subject = defineSubject(
  'account',
  ({ accounts }, id) => accounts.find(Number(id)),
  (account) => JSON.stringify(presentAccount(account)),
);

const changing = { writes: ['callers'], subject: subject.byId, run: change } as const;

export const accountUnits = {
  createAccount: {
    writes: ['callers'],
    subject: subject.made,
    run: ({ accounts }: Transaction, account: NewAccount) => accounts.add(account),
  },
  updateAccount: changing,
  closeAccount: { writes: ['callers', 'webhooks'], subject: subject.byId, run: close },
  reopenAccount: changing,
} as const satisfies AuditedUnits;
