import type * as z from 'zod';
import type {
  Account as AccountView,
  accountOperations,
  ListAccountsQuery,
} from '../../contract/admin/accounts.ts';
import { ApiError } from '../../contract/api-error.ts';
import { decodeCursor, encodeCursor, encodeFilters } from '../../contract/cursor.ts';
import type { Page } from '../../contract/operation.ts';
import { dayMs, startOfDay } from '../../domain/clock.ts';
import { type CustomQuota, PlanError, resolveQuota } from '../../domain/plan.ts';
import type { Verdict } from '../../limits/limit.ts';
import type { DayOfKey } from '../../storage/admin.ts';
import type { AccountFilter } from '../../storage/storage.ts';
import type { Account, Key } from '../../tables/accounts.ts';
import { type OperatorContext, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { expectFoundById } from '../errors.ts';
import { presentAccount, presentLimits, toIsoOrNull } from '../presenters.ts';
import { readInBatches } from '../read-in-batches.ts';
import { buildPage } from '../resources/pages.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { expectNumericId, toNumericId } from './ids.ts';
import { readPeriods } from './usage.ts';

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
    const account = { name, ...resolveQuota(plan, custom), createdAt: this.#context.clock.now() };
    return writeAs(this.#context, 'createAccount', account);
  }

  async find(id: number): Promise<Account> {
    return expectAccount(await this.#context.store.accounts.find(id), id);
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
    const limits = plan === undefined ? undefined : resolveQuota(plan, custom);
    return expectAccount(
      await writeAs(this.#context, 'updateAccount', { id, name, limits, note, preconditions }),
      id,
    );
  }

  async close(id: number): Promise<Account> {
    const closedAt = this.#context.clock.now();
    return expectAccount(await writeAs(this.#context, 'closeAccount', { id, closedAt }), id);
  }

  async reopen(id: number): Promise<Account> {
    return expectAccount(await writeAs(this.#context, 'reopenAccount', { id, closedAt: null }), id);
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
      const limits = resolveQuota(plan, {
        perMinute: custom.perMinute ?? perMinute,
        perDay: custom.perDay ?? perDay,
      });
      const change = { id, name, limits, basis: { plan, quota }, note, preconditions };
      try {
        return expectAccount(await writeAs(this.#context, 'updateAccount', change), id);
      } catch (error) {
        // If the request has preconditions, the error is returned to the client. Otherwise, the error means that the
        // limits have changed since they were read, so the change is retried.
        const isOvertaken =
          error instanceof ApiError && error.code === 'precondition_failed' && !preconditions;
        if (!isOvertaken) throw error;
      }
    }
  }
}

function expectAccount(account: Account | undefined, id: number): Account {
  return expectFoundById(account, 'account_not_found', id);
}

type Lists = Pick<OperatorContext, 'store' | 'clock'>;

interface Services extends Lists {
  readonly accounts: AccountOperations;
}

export const accountHandlers = {
  listAccounts: (services, { query }) => accountPage(services, query),
  createAccount: async ({ accounts }, { body: { name, plan, perMinute, perDay } }) =>
    presentAccount(await rejectInvalidPlan(accounts.create(name, plan, { perMinute, perDay }))),
  getAccount: async ({ accounts }, { params }) => presentAccount(await accounts.find(idOf(params))),
  updateAccount: async ({ accounts }, { params, body }, { preconditions }) => {
    const { name, plan, perMinute, perDay, note } = body;
    const change = { name, plan, custom: { perMinute, perDay }, note, preconditions };
    return presentAccount(await rejectInvalidPlan(accounts.update(idOf(params), change)));
  },
  closeAccount: async ({ accounts }, { params }) => presentAccount(await accounts.close(idOf(params))),
  reopenAccount: async ({ accounts }, { params }) => presentAccount(await accounts.reopen(idOf(params))),
  getAccountLimits: async ({ accounts }, { params }) => presentLimits(await accounts.limits(idOf(params))),
  getAccountUsage: async (services, { params, query }) => {
    const { id: accountId } = await services.accounts.find(idOf(params));
    return readPeriods(services, { accountId }, query);
  },
} satisfies StoreHandlersOf<Services, typeof accountOperations>;

const idOf = ({ accountId }: { readonly accountId: bigint }) =>
  expectNumericId(accountId, 'account_not_found');

/** Throws `invalid_body` for an invalid plan. */
async function rejectInvalidPlan<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    const { field, message } = error;
    throw new ApiError('invalid_body', {
      message: `The request body is invalid: ${field}: ${message}`,
      details: [{ in: 'body', name: field, message }],
      cause: error,
    });
  }
}

type Query = z.infer<typeof ListAccountsQuery>;

interface AccountUse {
  readonly requestsToday: number;
  /** Unix ms; 0 if never used. */
  readonly lastUsedAt: number;
}

type AccountUses = ReadonlyMap<number, AccountUse>;

const noUse: AccountUse = { requestsToday: 0, lastUsedAt: 0 };

/** Number of rows per read, which is limited because a read of an embedded store blocks the event loop. */
const rowBatch = 2_000;

/** Throws `invalid_cursor`. */
function accountPage(services: Lists, query: Query): Promise<Page<AccountView>> {
  const { sort = query.name === undefined ? 'id' : 'name' } = query;
  return sort === 'id' || sort === 'name'
    ? pageByIdOrName(services, query, sort)
    : pageByUse(services, query, sort);
}

const toFilter = ({ name, state }: Query): AccountFilter => ({
  name,
  isClosed: state === undefined ? undefined : state === 'closed',
});

/** A page sorted by id or name. If sorted by name, the cursor also contains the name. */
async function pageByIdOrName(
  services: Lists,
  query: Query,
  sort: 'id' | 'name',
): Promise<Page<AccountView>> {
  const { limit, cursor } = query;
  const filters = encodeFilters('/accounts', { ...query });
  const isByName = sort === 'name' || query.name !== undefined;
  const start = cursor === undefined ? undefined : decodeCursor(cursor, filters, 1n, isByName);
  const after = start && { id: toNumericId(start.after), name: start.name ?? '' };
  const { name = isByName ? '' : undefined, isClosed } = toFilter(query);
  const found = await services.store.accounts.search(after, limit + 1, { name, isClosed });
  const uses = await readUses(services, found.slice(0, limit));
  return buildPage(
    found.map((account) => toAccountWithUse(account, uses)),
    limit,
    (last) => encodeCursor({ filters, after: BigInt(last.id), name: isByName ? last.name : undefined }),
  );
}

/** An account in a list sorted by usage. */
interface Ranked {
  readonly id: number;
  /** The number of requests today, or the time of the last use (Unix ms); 0 if the account was not used. */
  readonly amount: number;
}

/** Compares by amount in descending order, then by id. */
const compareRanks = (one: Ranked, other: Ranked) => other.amount - one.amount || one.id - other.id;

/** A page sorted by usage. The cursor contains the amount and the id of the last account on the page. */
async function pageByUse(
  services: Lists,
  query: Query,
  sort: 'requestsToday' | 'lastUsedAt',
): Promise<Page<AccountView>> {
  const { limit, cursor } = query;
  const filters = encodeFilters('/accounts', { ...query });
  const start = cursor === undefined ? undefined : decodeCursor(cursor, filters, 1n, true);
  const after = start && { id: toNumericId(start.after), amount: Number(start.name) };
  const ranked = await listRankedAfter(after, services, sort, toFilter(query), limit + 1);
  const { items, next } = buildPage(ranked, limit, ({ id, amount }) =>
    encodeCursor({ filters, after: BigInt(id), name: String(amount) }),
  );
  const ids = items.map(({ id }) => id);
  const accounts = await services.store.accounts.findMany(ids);
  const uses = await readUses(services, accounts);
  const shown = new Map(accounts.map((account) => [account.id, toAccountWithUse(account, uses)]));
  return { items: ids.flatMap((id) => shown.get(id) ?? []), next };
}

/**
 * Number of days that are searched for the last use of an account. Accounts not used in this period come last, sorted
 * by id.
 */
const maxDays = 31;

/** The accounts after another one: at least `count` of them, or all if there are fewer. */
async function listRankedAfter(
  after: Ranked | undefined,
  { store, clock }: Lists,
  sort: 'requestsToday' | 'lastUsedAt',
  filter: AccountFilter,
  count: number,
): Promise<Ranked[]> {
  const isFiltered = filter.name !== undefined || filter.isClosed !== undefined;
  const wanted = isFiltered ? new Set(await listAccountIds(store, filter)) : undefined;
  const isLater = (its: Ranked) => after === undefined || compareRanks(after, its) < 0;
  const used = new Set<number>();
  const ranked: Ranked[] = [];
  const rank = (accounts: readonly Ranked[]) => {
    for (const its of accounts.filter(isLater).sort(compareRanks)) ranked.push(its);
  };
  const today = startOfDay(clock.now());
  const days = sort === 'lastUsedAt' ? maxDays : 1;
  for (let back = 0; back < days && ranked.length < count; back++) {
    const amounts = await readAmounts(store, sort, today - back * dayMs);
    const accounts = [...amounts].map(([id, amount]) => ({ id, amount }));
    const first = accounts.filter(
      ({ id, amount }) => amount > 0 && !used.has(id) && (wanted?.has(id) ?? true),
    );
    for (const { id } of first) used.add(id);
    rank(first);
  }
  if (ranked.length < count) {
    const rest = [...(wanted ?? (await listAccountIds(store, filter)))].filter((id) => !used.has(id));
    rank(rest.map((id) => ({ id, amount: 0 })));
  }
  return ranked;
}

/** The values to sort by, for the accounts used on a day. */
async function readAmounts(
  { usage }: Lists['store'],
  sort: 'requestsToday' | 'lastUsedAt',
  day: number,
): Promise<Map<number, number>> {
  const amounts = new Map<number, number>();
  const read = (last?: DayOfKey) => usage.keysOn(day, last?.keyId ?? 0, rowBatch);
  for await (const rows of readInBatches(rowBatch, read)) {
    for (const { accountId, requests, lastUsedAt } of rows) {
      const amount = amounts.get(accountId) ?? 0;
      amounts.set(accountId, sort === 'lastUsedAt' ? Math.max(amount, lastUsedAt) : amount + requests);
    }
  }
  return amounts;
}

function toAccountWithUse(account: Account, uses: AccountUses): AccountView {
  const { requestsToday, lastUsedAt } = uses.get(account.id) ?? noUse;
  return { ...presentAccount(account), requestsToday, lastUsedAt: toIsoOrNull(lastUsedAt || null) };
}

async function listAccountIds({ accounts }: Lists['store'], filter: AccountFilter): Promise<number[]> {
  const ids: number[] = [];
  const read = (last?: Account) => accounts.search(last, rowBatch, filter);
  for await (const page of readInBatches(rowBatch, read)) for (const { id } of page) ids.push(id);
  return ids;
}

async function readUses(services: Lists, accounts: readonly Account[]): Promise<AccountUses> {
  const uses = accounts.map(async ({ id }) => [id, await readUse(services, id)] as const);
  return new Map(await Promise.all(uses));
}

async function readUse({ store, clock }: Lists, accountId: number): Promise<AccountUse> {
  let { requestsToday, lastUsedAt } = noUse;
  const read = (last?: Key) => store.keys.list(last?.id ?? 0, rowBatch, { accountId });
  for await (const keys of readInBatches(rowBatch, read)) {
    const ids = keys.map(({ id }) => id);
    for (const use of await store.usage.lastUses(ids, startOfDay(clock.now()))) {
      requestsToday += use.requests;
      lastUsedAt = Math.max(lastUsedAt, use.lastUsedAt);
    }
  }
  return { requestsToday, lastUsedAt };
}
