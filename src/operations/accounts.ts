import type { Clock } from '../domain/clock.ts';
import { type Quota, quotaOf } from '../domain/plan.ts';
import type { Account } from '../storage/storage.ts';
import { NotFound } from './not-found.ts';
import type { Store } from './units.ts';

/** Accounts: who is counted, and by which plan. */
export class AccountOperations {
  readonly #store: Pick<Store, 'accounts' | 'write'>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, 'accounts' | 'write'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Throws `PlanError` for a plan that cannot be given. */
  async create(name: string, plan: string, custom: Partial<Quota> = {}): Promise<Account> {
    return this.#store.write('createAccount', {
      name,
      ...quotaOf(plan, custom),
      createdAt: this.#clock.now(),
    });
  }

  async list(): Promise<Account[]> {
    return this.#store.accounts.list();
  }

  /** Takes effect within the store's `staleAtMostMs`. Throws `PlanError` and `NotFound`. */
  async setPlan(id: number, planName: string, custom: Partial<Quota> = {}): Promise<Account> {
    const { plan, quota } = quotaOf(planName, custom);
    const account = await this.#store.write('setPlan', { id, plan, quota });
    if (account === undefined) throw new NotFound('account', id, 'accounts list');
    return account;
  }
}
