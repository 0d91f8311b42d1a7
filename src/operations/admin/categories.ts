import type { CategoryInUse, categoryUseOperations } from '../../contract/admin/categories.ts';
import { int64Max, int64Min } from '../../contract/json.ts';
import { readInBatches } from '../read-in-batches.ts';
import { readPage } from '../resources/pages.ts';
import type { Store } from '../units.ts';
import type { StoreHandlersOf } from './handlers.ts';

/** Number of categories per read, which is limited because a read of an embedded store blocks the event loop. */
const examinedBatch = 1_000;

type Stores = Pick<Store, 'pets' | 'categories'>;

/**
 * Up to `limit` categories with ids above `after`. `isNamed` selects categories with a name (true) or without one
 * (false).
 */
async function categoriesInUse(
  { pets, categories }: Stores,
  after: bigint | undefined,
  limit: number,
  isNamed: boolean | undefined,
): Promise<CategoryInUse[]> {
  // The store reads from `after + 1n`, which would overflow.
  if (after === int64Max) return [];
  const found: CategoryInUse[] = [];
  const pageLimit = isNamed === undefined ? limit : examinedBatch;
  const read = (last?: { readonly id: bigint }) => pets.categoriesInUse(last?.id ?? after, pageLimit);
  for await (const used of readInBatches(pageLimit, read)) {
    const known = await categories.findMany(used.map(({ id }) => id));
    const names = new Map(known.map(({ id, name }) => [id, name]));
    for (const category of used) {
      const name = names.get(category.id) ?? null;
      if (isNamed === undefined || isNamed === (name !== null)) found.push({ ...category, name });
    }
    if (found.length >= limit || used.at(-1)?.id === int64Max) break;
  }
  return found.slice(0, limit);
}

export const categoryUseHandlers = {
  listCategoriesInUse: ({ store }, { query }) =>
    readPage(query, {
      path: '/categories/in-use',
      minId: int64Min,
      read: (after, limit, { named }) =>
        categoriesInUse(store, after, limit, named === undefined ? undefined : named === 'true'),
    }),
} satisfies StoreHandlersOf<{ readonly store: Stores }, typeof categoryUseOperations>;
