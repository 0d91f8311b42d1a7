import {
  Categories,
  Category,
  CategoryId,
  CategoryName,
  categoryJson,
  ListCategoriesQuery,
} from './categories.ts';
import { noContent, type Operation, ok, page, type Success } from './operation.ts';

const params = { categoryId: { schema: CategoryId, otherwise: 'category_not_found' } } as const;

/** What became of a category that was put. */
export interface PutCategory {
  readonly category: Category;
  readonly isNew: boolean;
}

const put: Success<PutCategory> = {
  descriptions: { 200: 'The category has this name now.', 201: 'The category is new.' },
  statusOf: ({ isNew }) => (isNew ? 201 : 200),
  schema: Category,
  json: ({ category }) => categoryJson(category),
};

export const categoryOperations = {
  listCategories: {
    operationId: 'listCategories',
    method: 'GET',
    path: '/categories',
    tag: 'Categories',
    summary: 'List categories',
    description: 'Returns a page of categories by ascending id, linked like the pages of animals.',
    stability: 'beta',
    query: ListCategoriesQuery,
    scope: 'pets:read',
    reads: ['categories'],
    paginated: true,
    success: page(Categories, categoryJson, 'The page of categories.'),
    errors: [],
  },
  getCategory: {
    operationId: 'getCategory',
    method: 'GET',
    path: '/categories/{categoryId}',
    tag: 'Categories',
    summary: 'Get a category',
    description: 'Returns the name of a category.',
    stability: 'beta',
    params,
    scope: 'pets:read',
    reads: ['categories'],
    success: ok(Category, categoryJson, 'The requested category.'),
    errors: ['category_not_found'],
  },
  putCategory: {
    operationId: 'putCategory',
    method: 'PUT',
    path: '/categories/{categoryId}',
    tag: 'Categories',
    summary: 'Add or rename a category',
    description:
      'Gives an id of a category its name. Animals can have the `categoryId` before the category has a name.',
    stability: 'beta',
    params,
    body: { schema: CategoryName },
    scope: 'pets:write',
    reads: [],
    preconditions: ['If-Match', 'If-None-Match'],
    success: put,
    errors: ['category_not_found'],
  },
  deleteCategory: {
    operationId: 'deleteCategory',
    method: 'DELETE',
    path: '/categories/{categoryId}',
    tag: 'Categories',
    summary: 'Remove a category',
    description: 'Removes the name. Animals of the category keep their `categoryId`.',
    stability: 'beta',
    params,
    scope: 'pets:write',
    reads: [],
    preconditions: ['If-Match'],
    success: noContent('The category was removed.'),
    errors: ['category_not_found'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
