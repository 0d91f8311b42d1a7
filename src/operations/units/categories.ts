import { type CategoryName, categoryJson } from '../../contract/categories.ts';
import type { PutCategory } from '../../contract/category-operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { check, type Preconditions } from '../preconditions.ts';

interface CategoryInput {
  readonly params: { readonly categoryId: bigint };
  readonly preconditions: Preconditions;
}

export const categoryUnits = {
  putCategory: { writes: ['categories'], run: putCategory },
  deleteCategory: { writes: ['categories'], run: deleteCategory },
} as const satisfies Units;

async function putCategory(
  { categories }: Transaction,
  { params, body, preconditions }: CategoryInput & { readonly body: CategoryName },
): Promise<PutCategory> {
  const before = await categories.find(params.categoryId);
  check(preconditions, before && categoryJson(before));
  const category = { id: params.categoryId, name: body.name };
  if (before?.name !== category.name) await categories.put(category);
  return { category, isNew: before === undefined };
}

async function deleteCategory(
  { categories }: Transaction,
  { params, preconditions }: CategoryInput,
): Promise<void> {
  const category = await categories.find(params.categoryId);
  if (category === undefined) throw new Refusal('category_not_found');
  check(preconditions, categoryJson(category));
  await categories.remove(category.id);
}
