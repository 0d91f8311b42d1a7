import { int64Min } from '../contract/json.ts';
import { andThen } from '../domain/awaitable.ts';
import { found } from './found.ts';
import { pageOf } from './pages.ts';
import type { ReadersOf } from './readers.ts';

/** What clients read of categories. */
export const categoryReaders = {
  listCategories: ({ categories }, { query }) =>
    pageOf(
      { ...query },
      { path: '/categories', least: int64Min, read: (after, limit) => categories.list(after, limit) },
    ),
  getCategory: ({ categories }, { params }) =>
    andThen(categories.find(params.categoryId), (category) => found(category, 'category_not_found')),
} satisfies ReadersOf<'listCategories' | 'getCategory'>;
