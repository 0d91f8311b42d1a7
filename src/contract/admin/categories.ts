import * as z from 'zod';
import { Category } from '../categories.ts';
import { okPage, rowsOf } from '../operation.ts';
import { count, cursorParameter, enumOf, limitParameter, pageShape, shape } from '../values.ts';

const CategoryInUse = shape('CategoryInUse', 'A category that animals belong to.', {
  id: Category.shape.id,
  name: z.string().nullable().meta({ description: 'Its name; null for none.' }),
  available: count.meta({ description: 'Animals of it that are available.' }),
  pending: count.meta({ description: 'Animals of it that are pending.' }),
  sold: count.meta({ description: 'Animals of it that are sold.' }),
});

export type CategoryInUse = z.infer<typeof CategoryInUse>;

function inUseJson({ id, ...others }: CategoryInUse): string {
  return `{"id":${id},${JSON.stringify(others).slice(1)}`;
}

const ListCategoriesInUseQuery = z.strictObject({
  limit: limitParameter('categories'),
  named: enumOf(['true', 'false'])
    .optional()
    .meta({ description: 'Return only categories that have a name, or that have none.' }),
  cursor: cursorParameter,
});

export const categoryUseOperations = rowsOf(
  { tag: { name: 'Categories', description: 'Names for the categories of animals.' } },
  {
    listCategoriesInUse: {
      method: 'GET',
      path: '/categories/in-use',
      summary: 'List the categories of animals',
      description:
        'Returns a page of the categories that animals belong to, with or without a name, by ascending id.',
      query: ListCategoriesInUseQuery,
      paginated: true,
      success: okPage<CategoryInUse>(
        pageShape(CategoryInUse, 'CategoriesInUse', 'A page of categories.'),
        inUseJson,
        'The page of categories.',
      ),
    },
  },
);
