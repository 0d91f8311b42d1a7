/** Lists of accounts with their usage, sorted by id, name, number of requests or last use. */
import type * as z from 'zod';
import type { ListAccountsQuery, Account as ShownAccount } from '../../contract/admin/accounts.ts';
import { filtersText, readCursor, writeCursor } from '../../contract/cursor.ts';
import type { Page } from '../../contract/operation.ts';
import { type Clock, dayMs, dayOf } from '../../domain/clock.ts';
import { eventLoopTick } from '../../domain/event-loop.ts';
import type { LastUse } from '../../storage/admin.ts';
import type { AccountFilter, AccountPosition } from '../../storage/storage.ts';
import type { Account, Key } from '../../tables/accounts.ts';
import { pageFrom } from '../resources/pages.ts';
import { isoOrNull, shownAccount } from '../shown.ts';
import type { Store } from '../units.ts';

type Query = z.infer<typeof ListAccountsQuery>;

interface Services {
  readonly store: Pick<Store, 'accounts' | 'keys' | 'usage'>;
  readonly clock: Clock;
}

interface Use {
  readonly requestsToday: number;
  /** Unix ms; 0 if never used. */
  readonly lastUsedAt: number;
}

type Uses = ReadonlyMap<number, Use>;

const unused: Use = { requestsToday: 0, lastUsedAt: 0 };

/** Number of rows per read, which is limited because a read of an embedded store blocks the event loop. */
const rowBatch = 2_000;

/** Throws `invalid_cursor`. */
export function accountPage(services: Services, query: Query): Promise<Page<ShownAccount>> {
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
async function storedPage(
  services: Services,
  query: Query,
  sort: 'id' | 'name',
): Promise<Page<ShownAccount>> {
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
  services: Services,
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
  { store, clock }: Services,
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
  { usage }: Services['store'],
  sort: 'requestsToday' | 'lastUsedAt',
  day: number,
): Promise<Map<number, number>> {
  const amounts = new Map<number, number>();
  for (let after = 0; ; ) {
    const rows = await usage.keysOn(day, after, rowBatch);
    for (const { accountId, requests, lastUsedAt } of rows) {
      const amount = amounts.get(accountId) ?? 0;
      amounts.set(accountId, sort === 'lastUsedAt' ? Math.max(amount, lastUsedAt) : amount + requests);
    }
    if (rows.length < rowBatch) return amounts;
    after = rows.at(-1)?.keyId ?? after;
    await eventLoopTick();
  }
}

function withUse(account: Account, uses: Uses): ShownAccount {
  const { requestsToday, lastUsedAt } = uses.get(account.id) ?? unused;
  return { ...shownAccount(account), requestsToday, lastUsedAt: isoOrNull(lastUsedAt || null) };
}

async function idsOf({ accounts }: Services['store'], filter: AccountFilter): Promise<number[]> {
  const ids: number[] = [];
  for (let after: AccountPosition | undefined; ; ) {
    const page = await accounts.search(after, rowBatch, filter);
    for (const { id } of page) ids.push(id);
    if (page.length < rowBatch) return ids;
    after = page.at(-1);
    await eventLoopTick();
  }
}

async function usesOf(services: Services, accounts: readonly Account[]): Promise<Uses> {
  const uses = new Map<number, Use>();
  const added = accounts.map(({ id: accountId }) =>
    addUses(services, uses, (after) => services.store.keys.list(after, rowBatch, { accountId })),
  );
  await Promise.all(added);
  return uses;
}

async function addUses(
  { store, clock }: Services,
  uses: Map<number, Use>,
  read: (after: number) => Key[] | Promise<Key[]>,
): Promise<void> {
  for (let after = 0; ; ) {
    const keys = await read(after);
    const owners = new Map(keys.map(({ id, accountId }) => [id, accountId]));
    const found: LastUse[] = await store.usage.lastUses([...owners.keys()], dayOf(clock.now()));
    for (const { keyId, requests, lastUsedAt } of found) {
      const accountId = owners.get(keyId) ?? 0;
      const known = uses.get(accountId) ?? unused;
      uses.set(accountId, {
        requestsToday: known.requestsToday + requests,
        lastUsedAt: Math.max(known.lastUsedAt, lastUsedAt),
      });
    }
    if (keys.length < rowBatch) return;
    after = keys.at(-1)?.id ?? after;
    await eventLoopTick();
  }
}
