import * as z from 'zod';
import { bodyError, cursorParameter, int64, int64Hint, limitParameter, pageLimit, text } from './values.ts';

const name = text("The category's name.", 'Dogs');

export const CategoryId = int64(`ID of the category, chosen by the client. ${int64Hint}`, 1);

export const CategoryName = z
  .strictObject({ name }, { error: bodyError('a category', 'name') })
  .meta({ id: 'CategoryName', description: 'The name for a category.' });

export const Category = z
  .object({ id: CategoryId, name })
  .meta({ id: 'Category', description: 'A name for a category of animals.' });

export const Categories = z
  .array(Category)
  .max(pageLimit.max)
  .meta({ id: 'Categories', description: 'A page of categories.' });

export const ListCategoriesQuery = z.strictObject({
  limit: limitParameter('categories'),
  cursor: cursorParameter,
});

export type CategoryName = z.infer<typeof CategoryName>;
export type Category = z.infer<typeof Category>;
export type ListCategoriesQuery = z.infer<typeof ListCategoriesQuery>;

export function categoryJson({ id, name }: Category): string {
  return `{"id":${id},"name":${JSON.stringify(name)}}`;
}
