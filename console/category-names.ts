/** Loads category names, which lists show instead of ids. */
import { useEffect, useState } from 'preact/hooks';
import { call, callPage, Failure } from './api.ts';
import type { Category } from './contract.ts';
import type { Int64 } from './json.ts';
import { quoteName } from './text.ts';
import { useLoaded } from './use-loaded.ts';

/** Number of categories to read in the first request. Most stores have fewer. */
const firstRequestLimit = 100;

/** Category names by id. The value is undefined for a category without a name. */
export type CategoryNames = ReadonlyMap<string, string | undefined>;

/**
 * Returns the first page of categories and the names for `ids`. Requests the names of categories beyond that page one
 * at a time.
 */
export function useCategories(
  ids: readonly Int64[],
): readonly [categories: readonly Category[], names: CategoryNames] {
  const { data } = useLoaded('names', () =>
    callPage('GET /categories', { query: { limit: firstRequestLimit } }),
  );
  const [others, setOthers] = useState<CategoryNames>(new Map());
  const categories = data?.items ?? [];
  const names = new Map([...others, ...categories.map(({ id, name }) => [String(id), name] as const)]);
  const missing =
    data?.next === undefined ? [] : [...new Set(ids.map(String))].filter((id) => !names.has(id));
  useEffect(() => {
    const requests = missing.map(async (id) => [id, await fetchName(id)] as const);
    void Promise.all(requests).then((found) => setOthers((known) => new Map([...known, ...found])));
  }, [missing.join()]);
  return [categories, names];
}

async function fetchName(categoryId: string): Promise<string | undefined> {
  try {
    return (await call('GET /categories/{categoryId}', { params: { categoryId } })).name;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Returns the name of a category, or `Category` and its id if it has no name. */
export function categoryLabel(names: CategoryNames, id: Int64): string {
  const name = names.get(String(id));
  return name === undefined ? `Category ${id}` : quoteName(name);
}
