/**
 * The search function for operators, which finds objects by id, name, the last characters of a key, or order reference.
 */

import {
  type Found,
  maxPerKind,
  maxSearchedAnimals,
  type SearchResults,
  type searchOperations,
} from '../../contract/admin/search.ts';
import { int64Max } from '../../contract/json.ts';
import type { Category, Order, Pet } from '../../contract/representations.ts';
import { nextTick } from '../../domain/pacer.ts';
import type { SearchedTable, Span } from '../../storage/admin.ts';
import { foldCase } from '../../tables/accounts.ts';
import type { OperatorContext } from '../changes/by-operator.ts';
import type { ImportList } from '../imports/list.ts';
import type { FailedRequestSource } from '../observability/failed-requests.ts';
import { readInBatches } from '../read-in-batches.ts';
import type { Store } from '../units.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { toNumericId } from './ids.ts';
import { type KeyOperations, presentKeys } from './keys.ts';

/** Number of rows per read, which is limited because a read of an embedded store blocks the event loop. */
const spanLength = 20_000n;

/** Maximum number of categories whose names are examined. */
const maxCategories = 10_000;
const categoryBatch = 1_000;

interface Services extends Pick<OperatorContext, 'actor'> {
  readonly store: Pick<
    Store,
    'accounts' | 'keys' | 'pets' | 'orders' | 'categories' | 'webhooks' | 'operators' | 'search'
  >;
  readonly keys: KeyOperations;
  /** Present only in a serving process, not on the command line. */
  readonly importList?: ImportList;
  readonly failedRequests?: FailedRequestSource;
}

/** A parsed search query. */
interface ParsedQuery {
  readonly text: string;
  readonly id: bigint | undefined;
  /** The kind of object to search for; all kinds if undefined. */
  readonly kind: Found['kind'] | undefined;
}

const idForm = /^(?:([a-z]+)[:\s#]+|#)?(\d{1,19})$/i;

const kindAliases: Readonly<Record<string, Found['kind']>> = { pet: 'animal' };

function parseQuery(given: string): ParsedQuery {
  const text = given.trim();
  const [, word = '', digits = ''] = idForm.exec(text) ?? [];
  const named = word.toLowerCase();
  const kind = named === '' ? undefined : (kindAliases[named] ?? (named as Found['kind']));
  // If the word is not a kind of object, the text is a name, such as "room 7".
  if (kind !== undefined && !Object.hasOwn(searches, kind)) return { text, id: undefined, kind: undefined };
  const id = digits === '' ? undefined : BigInt(digits);
  return { text, id: id !== undefined && id <= int64Max ? id : undefined, kind };
}

type Search = (services: Services, query: ParsedQuery) => Promise<Found[]>;

const nothing = { name: null, state: null, lastFour: null, accountId: null } as const;

const searches: Readonly<Record<Found['kind'], Search>> = {
  account: async ({ store }, { text, id }) => {
    const ids = await findNamed(store, 'accounts', foldCase(text));
    const first = await store.accounts.search(undefined, maxPerKind, { name: text });
    const byId = id === undefined ? undefined : await store.accounts.find(toNumericId(id));
    const others = await store.accounts.findMany(ids.map(Number));
    const found = unique([byId, ...first, ...others.toSorted((one, other) => one.id - other.id)]);
    return found.map(({ id: accountId, name, closedAt }) => ({
      ...{ ...nothing, kind: 'account', id: BigInt(accountId), name },
      ...{ state: closedAt === null ? 'open' : 'closed', matched: accountId === byId?.id ? 'id' : 'name' },
    }));
  },
  key: async ({ store, keys }, { text, id }) => {
    const ids = await findNamed(store, 'keys', toAsciiLowerCase(text));
    const byId = id === undefined ? undefined : await store.keys.find(toNumericId(id));
    const others = await store.keys.findMany(ids.map(Number));
    const found = unique([byId, ...others.toSorted((one, other) => one.id - other.id)]);
    return (await presentKeys(keys, found)).map(({ id: keyId, name, state, lastFour, accountId }) => {
      const named = lastFour.toLowerCase() === text.toLowerCase() ? 'lastFour' : 'name';
      const matched = keyId === byId?.id ? 'id' : named;
      return { kind: 'key', id: BigInt(keyId), name, state, lastFour, accountId, matched };
    });
  },
  animal: async ({ store }, { text, id }) => {
    const ids = await findNamed(store, 'pets', toAsciiLowerCase(text), maxSearchedAnimals);
    const byId = id === undefined ? undefined : await store.pets.find(id);
    const found = unique<Pet>([byId, ...(await store.pets.findMany(ids)).toSorted(byNewest)]);
    return found.map(({ id: petId, name, status }) => ({
      ...{ ...nothing, kind: 'animal', id: petId, name, state: status },
      matched: petId === byId?.id ? 'id' : 'name',
    }));
  },
  order: async ({ store }, { text, id }) => {
    const ids = await store.search.ordersReferring(text, maxPerKind);
    const byId = id === undefined ? undefined : await store.orders.find(id);
    const found = unique<Order>([byId, ...(await store.orders.findMany(ids)).toSorted(byNewest)]);
    return found.map(({ id: orderId, reference = null, status }) => ({
      ...{ ...nothing, kind: 'order', id: orderId, name: reference, state: status },
      matched: orderId === byId?.id ? 'id' : 'reference',
    }));
  },
  category: async ({ store }, { text, id }) => {
    const byId = id === undefined ? undefined : await store.categories.find(id);
    const found = unique([byId, ...(await findCategoriesNamed(store, toAsciiLowerCase(text)))]);
    return found.map(({ id: categoryId, name }) => ({
      ...{ ...nothing, kind: 'category', id: categoryId, name },
      matched: categoryId === byId?.id ? 'id' : 'name',
    }));
  },
  webhook: async ({ store }, { id }) => {
    const webhook = id === undefined ? undefined : await store.webhooks.find(id);
    if (webhook === undefined) return [];
    const { description: name = null, enabled, accountId } = webhook;
    const state = enabled ? 'enabled' : 'disabled';
    return [{ ...nothing, kind: 'webhook', id: webhook.id, name, state, accountId, matched: 'id' }];
  },
  operator: async ({ store }, { text, id }) => {
    const all = await store.operators.list();
    const fits = (name: string) => toAsciiLowerCase(name).includes(toAsciiLowerCase(text));
    const found = all.filter((one) => BigInt(one.id) === id || fits(one.name)).slice(0, maxPerKind);
    return found.map((one) => ({
      ...{ ...nothing, kind: 'operator', id: BigInt(one.id), name: one.name, lastFour: one.lastFour },
      ...{ state: one.role, matched: fits(one.name) ? 'name' : 'id' },
    }));
  },
  import: async ({ importList }, { text }) => {
    const found = importList?.list().filter(({ requestId }) => requestId === text) ?? [];
    return found.map(({ id, fileName, state }) => ({
      ...{ ...nothing, kind: 'import', id: BigInt(id), name: fileName, state, matched: 'requestId' },
    }));
  },
  request: async ({ failedRequests }, { text: requestId }) => {
    const found = (await failedRequests?.list({ requestId, limit: maxPerKind })) ?? [];
    return found.map(({ keyId, accountId, code: state }) => {
      const id = keyId === null ? null : BigInt(keyId);
      return { ...nothing, kind: 'request', id, name: requestId, accountId, state, matched: 'requestId' };
    });
  },
};

const toAsciiLowerCase = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

const byNewest = (one: { readonly id: bigint }, other: { readonly id: bigint }) =>
  one.id < other.id ? 1 : -1;

/** Removes duplicates and undefined values, and returns the first `maxPerKind` items. */
function unique<Item extends { readonly id: bigint | number }>(items: readonly (Item | undefined)[]): Item[] {
  const byId = new Map(items.flatMap((item) => (item === undefined ? [] : [[item.id, item] as const])));
  return [...byId.values()].slice(0, maxPerKind);
}

/**
 * Ids of rows whose names contain the text, read in batches. `newest` limits the search to that many of the newest
 * rows.
 */
async function findNamed(
  store: Services['store'],
  of: SearchedTable,
  text: string,
  newest?: number,
): Promise<bigint[]> {
  const [last] = await store[of].listNewest(undefined, 1);
  if (last === undefined) return [];
  const until = BigInt(last.id);
  const found: bigint[] = [];
  let after = newest === undefined || until < newest ? 0n : until - BigInt(newest);
  while (after < until && found.length < maxPerKind) {
    const span: Span = { after, until: after + spanLength };
    found.push(...(await store.search.containing(of, text, span, maxPerKind - found.length)));
    if (span.until >= until) break;
    await nextTick();
    // After a failover or a restore, ids continue after a gap that is far longer than a span.
    const next = await store.search.nextId(of, span.until);
    after = (next ?? until) - 1n;
  }
  return found;
}

async function findCategoriesNamed({ categories }: Services['store'], text: string) {
  const found: Category[] = [];
  let examined = 0;
  const read = (last?: Category) => categories.list(last?.id, categoryBatch);
  for await (const page of readInBatches(categoryBatch, read)) {
    found.push(...page.filter(({ name }) => toAsciiLowerCase(name).includes(text)));
    examined += page.length;
    if (examined >= maxCategories || found.length >= maxPerKind) break;
  }
  return found;
}

export const searchHandlers = {
  search: async (services, { query }): Promise<SearchResults> => ({
    results: await runSearch(services, parseQuery(query.text)),
  }),
} satisfies StoreHandlersOf<Services, typeof searchOperations>;

async function runSearch(services: Services, query: ParsedQuery): Promise<Found[]> {
  const results: Found[] = [];
  for (const [kind, search] of Object.entries(searches)) {
    if (query.kind !== undefined && query.kind !== kind) continue;
    results.push(...(await search(services, query)));
  }
  return results;
}
