import type * as z from 'zod';
import type {
  accountOperations,
  ListAccountsQuery,
  Account as ShownAccount,
} from '../../contract/admin/accounts.ts';
import { filtersText, readCursor, writeCursor } from '../../contract/cursor.ts';
import type { Page } from '../../contract/operation.ts';
import { Refusal } from '../../contract/refusal.ts';
import type { Verdict } from '../../domain/limit.ts';
import { type CustomQuota, PlanError, quotaOf } from '../../domain/plan.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Account } from '../../tables/accounts.ts';
import { type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { foundById } from '../refusals.ts';
import { pageFrom } from '../resources/pages.ts';
import { shownAccount, shownLimits } from '../shown.ts';
import type { Store } from '../units.ts';
import type { HandlersOf } from './handlers.ts';
import type { UsageReports } from './usage.ts';

interface AccountUpdate {
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  readonly custom?: CustomQuota;
  readonly preconditions?: Preconditions | undefined;
}

/** Accounts: who is counted, and by which plan. What names an account refuses `account_not_found`. */
export class AccountOperations {
  readonly #context: OperatorContext;

  constructor(context: OperatorContext) {
    this.#context = context;
  }

  /** Throws `PlanError` for a plan that cannot be given. */
  async create(name: string, plan: string, custom: CustomQuota = {}): Promise<Account> {
    const account = { name, ...quotaOf(plan, custom), createdAt: this.#context.clock.now() };
    return writeAs(this.#context, 'createAccount', account);
  }

  async find(id: number): Promise<Account> {
    return foundAccount(await this.#context.store.accounts.find(id), id);
  }

  /**
   * Changes the name, the plan or both in one step; limits without a plan are those of the plan it has. Takes effect within
   * the store's `staleAtMostMs`. Throws `PlanError`, and refuses `precondition_failed`.
   */
  async update(id: number, { name, plan, custom = {}, preconditions }: AccountUpdate): Promise<Account> {
    const isDerived = plan === undefined && (custom.perMinute ?? custom.perDay) !== undefined;
    if (isDerived) return this.#updateQuota(id, { name, custom, preconditions });
    const limits = plan === undefined ? undefined : quotaOf(plan, custom);
    return foundAccount(
      await writeAs(this.#context, 'updateAccount', { id, name, limits, preconditions }),
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
    const { plan, quota } = await this.find(id);
    // No key has the id 0, so the verdict is not that of a banned key.
    const caller = { keyId: 0, accountId: id, plan, quota, scopes: new Set<Scope>(), expiresAt: Infinity };
    return (await this.#context.store.limits.standing(caller)).verdict;
  }

  async #updateQuota(id: number, { name, custom = {}, preconditions }: AccountUpdate): Promise<Account> {
    for (;;) {
      const { plan, quota } = await this.find(id);
      const { perMinute, perDay } = plan === 'enterprise' ? quota : {};
      const limits = quotaOf(plan, {
        perMinute: custom.perMinute ?? perMinute,
        perDay: custom.perDay ?? perDay,
      });
      const change = { id, name, limits, basis: { plan, quota }, preconditions };
      try {
        return foundAccount(await writeAs(this.#context, 'updateAccount', change), id);
      } catch (error) {
        // With preconditions, other limits than these are what the caller wants to hear of.
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

interface Services extends Pick<OperatorContext, 'store'> {
  readonly accounts: AccountOperations;
  readonly usage: UsageReports;
}

export const accountHandlers = {
  listAccounts: ({ store }, { query }) => accountPage(store, query),
  createAccount: async ({ accounts }, { body: { name, plan, perMinute, perDay } }) =>
    shownAccount(await planned(accounts.create(name, plan, { perMinute, perDay }))),
  getAccount: async ({ accounts }, { params }) => shownAccount(await accounts.find(idOf(params))),
  updateAccount: async ({ accounts }, { params, body }, { preconditions }) => {
    const { name, plan, perMinute, perDay } = body;
    const change = { name, plan, custom: { perMinute, perDay }, preconditions };
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

/** A page by id, or with a name filter by name, whose cursor also has the name. Refuses `invalid_cursor`. */
async function accountPage(
  { accounts }: Pick<Store, 'accounts'>,
  query: z.infer<typeof ListAccountsQuery>,
): Promise<Page<ShownAccount>> {
  const { limit, name, state, cursor } = query;
  const filters = filtersText('/accounts', { ...query });
  const isByName = name !== undefined;
  const start = cursor === undefined ? undefined : readCursor(cursor, filters, 1n, isByName);
  const after = start && { id: Number(start.after), name: start.name ?? '' };
  const isClosed = state === undefined ? undefined : state === 'closed';
  const found = await accounts.search(after, limit + 1, { name, isClosed });
  return pageFrom(found.map(shownAccount), limit, (last) =>
    writeCursor({ filters, after: BigInt(last.id), name: isByName ? last.name : undefined }),
  );
}

/** Refuses `invalid_body` for a plan that cannot be given. */
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
