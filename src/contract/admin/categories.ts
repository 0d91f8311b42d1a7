import * as z from 'zod';
import { Category } from '../categories.ts';
import { defineOperations, okPage } from '../operation.ts';
import { count, cursorParameter, enumSchema, limitParameter, objectSchema, pageSchema } from '../values.ts';

const CategoryInUse = objectSchema('CategoryInUse', 'A category that has animals.', {
  id: Category.shape.id,
  name: z.string().nullable().describe('Name of the category; null if it has no name.'),
  available: count.describe('Number of available animals in the category.'),
  pending: count.describe('Number of pending animals in the category.'),
  sold: count.describe('Number of sold animals in the category.'),
});

export type CategoryInUse = z.infer<typeof CategoryInUse>;

function categoryInUseJson({ id, ...others }: CategoryInUse): string {
  return `{"id":${id},${JSON.stringify(others).slice(1)}`;
}

const ListCategoriesInUseQuery = z.strictObject({
  limit: limitParameter('categories'),
  named: enumSchema(['true', 'false'])
    .optional()
    .describe('Return only categories with a name, or only categories without a name.'),
  cursor: cursorParameter,
});

export const categoryUseOperations = defineOperations(
  { tag: { name: 'Categories', description: 'Names of animal categories.' } },
  {
    listCategoriesInUse: {
      route: 'GET /categories/in-use',
      summary: 'List categories that have animals',
      description:
        'Returns a page of all categories that have animals, with or without a name, in ascending order of id.',
      query: ListCategoriesInUseQuery,
      paginated: true,
      success: okPage<CategoryInUse>(
        pageSchema(CategoryInUse, 'CategoriesInUse', 'A page of categories.'),
        categoryInUseJson,
        'A page of categories.',
      ),
    },
  },
);
