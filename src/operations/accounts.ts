import type { Verdict } from '../domain/limit.ts';
import { type CustomQuota, quotaOf } from '../domain/plan.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Scope } from '../domain/scope.ts';
import type { Account, AccountFilter, AccountPosition } from '../storage/storage.ts';
import { type OperatorContext, writeAs } from './by-operator.ts';
import { notFound } from './not-found.ts';
import type { Preconditions } from './preconditions.ts';

/** How many are read at once. */
const pageSize = 100;

/** What changes about an account; what is undefined stays. */
export interface AccountUpdate {
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  readonly custom?: CustomQuota;
  readonly preconditions?: Preconditions | undefined;
}

/** Accounts: who is counted, and by which plan. */
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

  /** A page of accounts, as `AccountStore.list` gives it. */
  async list(after: AccountPosition | undefined, limit: number, filter?: AccountFilter): Promise<Account[]> {
    return this.#context.store.accounts.list(after, limit, filter);
  }

  /** All accounts that fit, page by page. */
  async *all(filter?: AccountFilter): AsyncGenerator<Account, void> {
    for (let after: Account | undefined; ; ) {
      const page = await this.list(after, pageSize, filter);
      yield* page;
      after = page.at(-1);
      if (page.length < pageSize) return;
    }
  }

  /** Refuses `account_not_found`. */
  async find(id: number): Promise<Account> {
    return found(id, await this.#context.store.accounts.find(id));
  }

  /** Refuses `account_not_found`. */
  async rename(id: number, name: string): Promise<Account> {
    return found(id, await writeAs(this.#context, 'updateAccount', { id, name }));
  }

  /** Takes effect within the store's `staleAtMostMs`. Throws `PlanError`, and refuses `account_not_found`. */
  async setPlan(id: number, planName: string, custom: CustomQuota = {}): Promise<Account> {
    return this.update(id, { plan: planName, custom });
  }

  /**
   * Changes the name, the plan or both in one step; limits without a plan are those of the plan it has. Throws `PlanError`,
   * and refuses `account_not_found` and `precondition_failed`.
   */
  async update(id: number, { name, plan, custom = {}, preconditions }: AccountUpdate): Promise<Account> {
    const isDerived = plan === undefined && (custom.perMinute ?? custom.perDay) !== undefined;
    if (isDerived) return this.#updateQuota(id, { name, custom, preconditions });
    const limits = plan === undefined ? undefined : quotaOf(plan, custom);
    return found(id, await writeAs(this.#context, 'updateAccount', { id, name, limits, preconditions }));
  }

  /** Its keys are refused from the next request on. Refuses `account_not_found`. */
  async close(id: number): Promise<Account> {
    const closedAt = this.#context.clock.now();
    return found(id, await writeAs(this.#context, 'closeAccount', { id, closedAt }));
  }

  /** Refuses `account_not_found`. */
  async reopen(id: number): Promise<Account> {
    return found(id, await writeAs(this.#context, 'reopenAccount', { id, closedAt: null }));
  }

  /** What is used of both windows now. Costs the account nothing. Refuses `account_not_found`. */
  async limits(id: number): Promise<Verdict> {
    const { plan, quota } = await this.find(id);
    // No key has the id 0, so that what a key is told of its ban does not come in between.
    const caller = { keyId: 0, accountId: id, plan, quota, scopes: new Set<Scope>(), expiresAt: Infinity };
    return (await this.#context.store.limits.standing(caller)).verdict;
  }

  /** Gives the account other limits on the plan it has. If somebody changes the plan meanwhile, those of the new plan. */
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
        return found(id, await writeAs(this.#context, 'updateAccount', change));
      } catch (error) {
        // With preconditions, other limits than these are what the caller wants to hear of.
        const isOvertaken =
          error instanceof Refusal && error.code === 'precondition_failed' && !preconditions;
        if (!isOvertaken) throw error;
      }
    }
  }
}

function found(id: number, account: Account | undefined): Account {
  if (account === undefined) throw notFound('account_not_found', id);
  return account;
}
