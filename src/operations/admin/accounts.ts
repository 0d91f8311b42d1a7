import type { Page } from '../../contract/operation.ts';
import { filtersText, readCursor, writeCursor } from '../../domain/cursor.ts';
import { PlanError } from '../../domain/plan.ts';
import { Refusal } from '../../domain/refusal.ts';
import { pageFrom } from '../pages.ts';
import { shownAccount, shownLimits } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** What the operations on accounts do that operators have for themselves. */
export const accountHandlers = {
  listAccounts: ({ accounts }, { query }) => listAccounts(accounts, query),
  createAccount: async ({ accounts }, { body: { name, plan, perMinute, perDay } }) =>
    shownAccount(await planned(accounts.create(name, plan, { perMinute, perDay }))),
  getAccount: async ({ accounts }, { params }) => shownAccount(await accounts.find(idOf(params))),
  updateAccount: async (
    { accounts },
    { params, body: { name, plan, perMinute, perDay } },
    { preconditions },
  ) => {
    const change = { name, plan, custom: { perMinute, perDay }, preconditions };
    return shownAccount(await planned(accounts.update(idOf(params), change)));
  },
  closeAccount: async ({ accounts }, { params }) => shownAccount(await accounts.close(idOf(params))),
  reopenAccount: async ({ accounts }, { params }) => shownAccount(await accounts.reopen(idOf(params))),
  getAccountLimits: async ({ accounts }, { params }) => shownLimits(await accounts.limits(idOf(params))),
} satisfies HandlersOf<
  OperatorServices,
  | 'listAccounts'
  | 'createAccount'
  | 'getAccount'
  | 'updateAccount'
  | 'closeAccount'
  | 'reopenAccount'
  | 'getAccountLimits'
>;

const idOf = ({ accountId }: { readonly accountId: bigint }) => Number(accountId);

interface ListQuery {
  readonly limit: number;
  readonly name?: string | undefined;
  readonly state?: 'open' | 'closed' | undefined;
  readonly cursor?: string | undefined;
}

/** A page by id, with a name filter by name: then its cursor has the name, too. Refuses `invalid_cursor`. */
async function listAccounts(
  accounts: OperatorServices['accounts'],
  query: ListQuery,
): Promise<Page<ReturnType<typeof shownAccount>>> {
  const { limit, name, state, cursor } = query;
  const filters = filtersText('/accounts', { ...query });
  const isByName = name !== undefined;
  const start = cursor === undefined ? undefined : readCursor(cursor, filters, 1n, isByName);
  const after = start && { id: Number(start.after), name: start.name ?? '' };
  const isClosed = state === undefined ? undefined : state === 'closed';
  const found = await accounts.list(after, limit + 1, { name, isClosed });
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
    });
  }
}
