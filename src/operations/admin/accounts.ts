import type * as z from 'zod';
import type {
  accountOperations,
  ListAccountsQuery,
  Account as ShownAccount,
} from '../../contract/admin/accounts.ts';
import { filtersText, readCursor, writeCursor } from '../../contract/cursor.ts';
import type { Page } from '../../contract/operation.ts';
import { Refusal } from '../../contract/refusal.ts';
import { dayMs, dayOf } from '../../domain/clock.ts';
import { type CustomQuota, PlanError, quotaOf } from '../../domain/plan.ts';
import type { Verdict } from '../../limits/limit.ts';
import type { DayOfKey } from '../../storage/admin.ts';
import type { AccountFilter } from '../../storage/storage.ts';
import type { Account, Key } from '../../tables/accounts.ts';
import { batches } from '../batches.ts';
import { type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { foundById } from '../refusals.ts';
import { pageFrom } from '../resources/pages.ts';
import { isoOrNull, shownAccount, shownLimits } from '../shown.ts';
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

type Lists = Pick<OperatorContext, 'store' | 'clock'>;

interface Services extends Lists {
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

type Query = z.infer<typeof ListAccountsQuery>;

interface Use {
  readonly requestsToday: number;
  /** Unix ms; 0 if never used. */
  readonly lastUsedAt: number;
}

type Uses = ReadonlyMap<number, Use>;

const noUse: Use = { requestsToday: 0, lastUsedAt: 0 };

/** Number of rows per read, which is limited because a read of an embedded store blocks the event loop. */
const rowBatch = 2_000;

/** Throws `invalid_cursor`. */
function accountPage(services: Lists, query: Query): Promise<Page<ShownAccount>> {
  const { sort = query.name === undefined ? 'id' : 'name' } = query;
  return sort === 'id' || sort === 'name'
    ? storedPage(services, query, sort)
    : pageByUse(services, query, sort);
}

const filterOf = ({ name, state }: Query): AccountFilter => ({
  name,
  isClosed: state === undefined ? undefined : state === 'closed',
});

/** A page sorted by id or name. If sorted by name, the cursor also contains the name. */
async function storedPage(services: Lists, query: Query, sort: 'id' | 'name'): Promise<Page<ShownAccount>> {
  const { limit, cursor } = query;
  const filters = filtersText('/accounts', { ...query });
  const isByName = sort === 'name' || query.name !== undefined;
  const start = cursor === undefined ? undefined : readCursor(cursor, filters, 1n, isByName);
  const after = start && { id: Number(start.after), name: start.name ?? '' };
  const { name = isByName ? '' : undefined, isClosed } = filterOf(query);
  const found = await services.store.accounts.search(after, limit + 1, { name, isClosed });
  const uses = await usesOf(services, found.slice(0, limit));
  return pageFrom(
    found.map((account) => withUse(account, uses)),
    limit,
    (last) => writeCursor({ filters, after: BigInt(last.id), name: isByName ? last.name : undefined }),
  );
}

/**
 * A page sorted by usage. Usage is not stored per account, so the cursor is the number of accounts before the page.
 */
async function pageByUse(
  services: Lists,
  query: Query,
  sort: 'requestsToday' | 'lastUsedAt',
): Promise<Page<ShownAccount>> {
  const { limit, cursor } = query;
  const filters = filtersText('/accounts', { ...query });
  const before = cursor === undefined ? 0 : Number(readCursor(cursor, filters, 1n).after);
  const needed = before + limit + 1;
  const ranked = await rankedIds(services, sort, filterOf(query), needed);
  const page = ranked.slice(before, needed);
  const found = await services.store.accounts.findMany(page);
  const inOrder = found.toSorted((one, other) => page.indexOf(one.id) - page.indexOf(other.id));
  const uses = await usesOf(services, inOrder.slice(0, limit));
  return pageFrom(
    inOrder.map((account) => withUse(account, uses)),
    limit,
    () => writeCursor({ filters, after: BigInt(before + limit) }),
  );
}

/**
 * Number of days that are searched for the last use of an account. Accounts not used in this period come last, sorted
 * by id.
 */
const maxDays = 31;

/** The first account ids in the given order: at least `needed` of them, or all if there are fewer. */
async function rankedIds(
  { store, clock }: Lists,
  sort: 'requestsToday' | 'lastUsedAt',
  filter: AccountFilter,
  needed: number,
): Promise<number[]> {
  const isFiltered = filter.name !== undefined || filter.isClosed !== undefined;
  const wanted = isFiltered ? new Set(await idsOf(store, filter)) : undefined;
  const known = new Set<number>();
  const ranked: number[] = [];
  const today = dayOf(clock.now());
  const days = sort === 'lastUsedAt' ? maxDays : 1;
  for (let back = 0; back < days && ranked.length < needed; back++) {
    const amounts = await amountsOn(store, sort, today - back * dayMs);
    const accounts = [...amounts].filter(([id]) => !known.has(id) && (wanted?.has(id) ?? true));
    accounts.sort(([one, its], [other, others]) => others - its || one - other);
    for (const [id] of accounts) {
      known.add(id);
      ranked.push(id);
    }
  }
  if (ranked.length < needed) {
    const rest = wanted ?? (await idsOf(store, filter));
    for (const id of [...rest].sort((one, other) => one - other)) if (!known.has(id)) ranked.push(id);
  }
  return ranked;
}

/** The values to sort by, for the accounts used on a day. */
async function amountsOn(
  { usage }: Lists['store'],
  sort: 'requestsToday' | 'lastUsedAt',
  day: number,
): Promise<Map<number, number>> {
  const amounts = new Map<number, number>();
  const read = (last?: DayOfKey) => usage.keysOn(day, last?.keyId ?? 0, rowBatch);
  for await (const rows of batches(rowBatch, read)) {
    for (const { accountId, requests, lastUsedAt } of rows) {
      const amount = amounts.get(accountId) ?? 0;
      amounts.set(accountId, sort === 'lastUsedAt' ? Math.max(amount, lastUsedAt) : amount + requests);
    }
  }
  return amounts;
}

function withUse(account: Account, uses: Uses): ShownAccount {
  const { requestsToday, lastUsedAt } = uses.get(account.id) ?? noUse;
  return { ...shownAccount(account), requestsToday, lastUsedAt: isoOrNull(lastUsedAt || null) };
}

async function idsOf({ accounts }: Lists['store'], filter: AccountFilter): Promise<number[]> {
  const ids: number[] = [];
  const read = (last?: Account) => accounts.search(last, rowBatch, filter);
  for await (const page of batches(rowBatch, read)) for (const { id } of page) ids.push(id);
  return ids;
}

async function usesOf(services: Lists, accounts: readonly Account[]): Promise<Uses> {
  const uses = accounts.map(async ({ id }) => [id, await useOf(services, id)] as const);
  return new Map(await Promise.all(uses));
}

async function useOf({ store, clock }: Lists, accountId: number): Promise<Use> {
  let { requestsToday, lastUsedAt } = noUse;
  const read = (last?: Key) => store.keys.list(last?.id ?? 0, rowBatch, { accountId });
  for await (const keys of batches(rowBatch, read)) {
    const ids = keys.map(({ id }) => id);
    for (const use of await store.usage.lastUses(ids, dayOf(clock.now()))) {
      requestsToday += use.requests;
      lastUsedAt = Math.max(lastUsedAt, use.lastUsedAt);
    }
  }
  return { requestsToday, lastUsedAt };
}
