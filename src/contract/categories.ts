import * as z from 'zod';
import { defineOperations, noContent, ok, okPage, type Success } from './operation.ts';
import { categoryJson, type PutCategoryResult } from './representations.ts';
import {
  bodySchema,
  cursorParameter,
  int64,
  int64Hint,
  limitParameter,
  objectSchema,
  pageSchema,
  text,
} from './values.ts';

const name = text("The category's name.", 'Dogs');

const CategoryId = int64(`ID of the category, chosen by the client. ${int64Hint}`, 1);

const CategoryName = bodySchema('CategoryName', 'The name of a category.', 'a category', { name });

export const Category = objectSchema('Category', 'The name of an animal category.', { id: CategoryId, name });

const Categories = pageSchema(Category, 'Categories', 'A page of categories.');

const ListCategoriesQuery = z.strictObject({
  limit: limitParameter('categories'),
  cursor: cursorParameter,
});

const params = { categoryId: { schema: CategoryId, otherwise: 'category_not_found' } } as const;

const put: Success<PutCategoryResult> = {
  descriptions: { 200: 'The category was renamed.', 201: 'The category was added.' },
  statusOf: ({ isNew }) => (isNew ? 201 : 200),
  schema: Category,
  json: ({ category }) => categoryJson(category),
};

export const categoryOperations = defineOperations(
  { tag: { name: 'Categories', description: 'Names of animal categories.' } },
  {
    listCategories: {
      route: 'GET /categories',
      summary: 'List categories',
      description:
        'Returns a page of categories in ascending order of id. The `Link` header has the URLs of the first and the next page.',
      query: ListCategoriesQuery,
      scope: 'pets:read',
      reads: ['categories'],
      paginated: true,
      success: okPage(Categories, categoryJson, 'A page of categories.'),
    },
    getCategory: {
      route: 'GET /categories/{categoryId}',
      summary: 'Get a category',
      description: 'Returns the name of a category.',
      params,
      scope: 'pets:read',
      reads: ['categories'],
      success: ok(Category, categoryJson, 'The requested category.'),
    },
    putCategory: {
      route: 'PUT /categories/{categoryId}',
      summary: 'Add or rename a category',
      description: 'Sets the name of a category. Animals can use a `categoryId` that has no name yet.',
      params,
      body: { schema: CategoryName },
      scope: 'pets:write',
      preconditions: ['If-Match', 'If-None-Match'],
      success: put,
    },
    deleteCategory: {
      route: 'DELETE /categories/{categoryId}',
      summary: 'Delete a category',
      description: 'Deletes the name of a category. Animals in the category keep their `categoryId`.',
      params,
      scope: 'pets:write',
      preconditions: ['If-Match'],
      success: noContent('The category was deleted.'),
    },
  },
);
