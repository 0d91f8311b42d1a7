/** Names of categories, so that lists need not show numbers only. */
import { callPage } from './api.ts';
import type { Category } from './contract.ts';
import type { Int64 } from './json.ts';
import { useLoaded } from './loaded.ts';

/** More than these are shown by their ids. */
const mostNames = 100;

export function useCategories(): readonly Category[] {
  const load = () => callPage('GET /categories', { query: { limit: mostNames } });
  return useLoaded('names', load).data?.items ?? [];
}

/** A category as people call it; by its id where it has no name. */
export function categoryText(categories: readonly Category[], id: Int64): string {
  return categories.find((category) => category.id === id)?.name ?? `Category ${id}`;
}
