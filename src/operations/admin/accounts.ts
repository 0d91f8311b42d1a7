import type { accountOperations } from '../../contract/admin/accounts.ts';
import { Refusal } from '../../contract/refusal.ts';
import type { Verdict } from '../../domain/limit.ts';
import { type CustomQuota, PlanError, quotaOf } from '../../domain/plan.ts';
import type { Account } from '../../tables/accounts.ts';
import { type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { foundById } from '../refusals.ts';
import { shownAccount, shownLimits } from '../shown.ts';
import { accountPage } from './account-lists.ts';
import type { HandlersOf } from './handlers.ts';
import type { UsageReports } from './usage.ts';

interface AccountUpdate {
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  readonly custom?: CustomQuota;
  readonly note?: string | null | undefined;
  readonly preconditions?: Preconditions | undefined;
}

/** Accounts and their plans. Functions that take an account id throw `account_not_found`. */
export class AccountOperations {
  readonly #context: OperatorContext;

  constructor(context: OperatorContext) {
    this.#context = context;
  }

  /** Throws `PlanError` for an invalid plan. */
  async create(name: string, plan: string, custom: CustomQuota = {}): Promise<Account> {
    const account = { name, ...quotaOf(plan, custom), createdAt: this.#context.clock.now() };
    return writeAs(this.#context, 'createAccount', account);
  }

  async find(id: number): Promise<Account> {
    return foundAccount(await this.#context.store.accounts.find(id), id);
  }

  /**
   * Changes the name, the plan and the note in one transaction. If limits are given without a plan, they apply to the
   * current plan. Takes effect within the store's `maxStaleMs`. Throws `PlanError` and `precondition_failed`.
   */
  async update(
    id: number,
    { name, plan, custom = {}, note, preconditions }: AccountUpdate,
  ): Promise<Account> {
    const isDerived = plan === undefined && (custom.perMinute ?? custom.perDay) !== undefined;
    if (isDerived) return this.#updateQuota(id, { name, custom, note, preconditions });
    const limits = plan === undefined ? undefined : quotaOf(plan, custom);
    return foundAccount(
      await writeAs(this.#context, 'updateAccount', { id, name, limits, note, preconditions }),
      id,
    );
  }

  async close(id: number): Promise<Account> {
    const closedAt = this.#context.clock.now();
    return foundAccount(await writeAs(this.#context, 'closeAccount', { id, closedAt }), id);
  }

  async reopen(id: number): Promise<Account> {
    return foundAccount(await writeAs(this.#context, 'reopenAccount', { id, closedAt: null }), id);
  }

  async limits(id: number): Promise<Verdict> {
    const { quota } = await this.find(id);
    // No key has the id 0, so the verdict is never a ban.
    return (await this.#context.store.limits.standing({ keyId: 0, accountId: id, quota })).verdict;
  }

  async #updateQuota(
    id: number,
    { name, custom = {}, note, preconditions }: AccountUpdate,
  ): Promise<Account> {
    for (;;) {
      const { plan, quota } = await this.find(id);
      const { perMinute, perDay } = plan === 'enterprise' ? quota : {};
      const limits = quotaOf(plan, {
        perMinute: custom.perMinute ?? perMinute,
        perDay: custom.perDay ?? perDay,
      });
      const change = { id, name, limits, basis: { plan, quota }, note, preconditions };
      try {
        return foundAccount(await writeAs(this.#context, 'updateAccount', change), id);
      } catch (error) {
        // If the request has preconditions, the error is returned to the client. Otherwise, the error means that the
        // limits have changed since they were read, so the change is retried.
        const isOvertaken =
          error instanceof Refusal && error.code === 'precondition_failed' && !preconditions;
        if (!isOvertaken) throw error;
      }
    }
  }
}

function foundAccount(account: Account | undefined, id: number): Account {
  return foundById(account, 'account_not_found', id);
}

interface Services extends Pick<OperatorContext, 'store' | 'clock'> {
  readonly accounts: AccountOperations;
  readonly usage: UsageReports;
}

export const accountHandlers = {
  listAccounts: (services, { query }) => accountPage(services, query),
  createAccount: async ({ accounts }, { body: { name, plan, perMinute, perDay } }) =>
    shownAccount(await planned(accounts.create(name, plan, { perMinute, perDay }))),
  getAccount: async ({ accounts }, { params }) => shownAccount(await accounts.find(idOf(params))),
  updateAccount: async ({ accounts }, { params, body }, { preconditions }) => {
    const { name, plan, perMinute, perDay, note } = body;
    const change = { name, plan, custom: { perMinute, perDay }, note, preconditions };
    return shownAccount(await planned(accounts.update(idOf(params), change)));
  },
  closeAccount: async ({ accounts }, { params }) => shownAccount(await accounts.close(idOf(params))),
  reopenAccount: async ({ accounts }, { params }) => shownAccount(await accounts.reopen(idOf(params))),
  getAccountLimits: async ({ accounts }, { params }) => shownLimits(await accounts.limits(idOf(params))),
  getAccountUsage: async ({ accounts, usage }, { params, query }) => {
    const { id: accountId } = await accounts.find(idOf(params));
    return usage.periods({ accountId }, query);
  },
} satisfies HandlersOf<Services, typeof accountOperations>;

const idOf = ({ accountId }: { readonly accountId: bigint }) => Number(accountId);

/** Throws `invalid_body` for an invalid plan. */
async function planned<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    const { field, message } = error;
    throw new Refusal('invalid_body', {
      message: `The request body is invalid: ${field}: ${message}`,
      details: [{ in: 'body', name: field, message }],
      cause: error,
    });
  }
}
