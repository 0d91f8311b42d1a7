import * as z from 'zod';
import { count, int64Parameter } from './values.ts';

export const Inventory = z
  .object({ available: count, pending: count, sold: count })
  .meta({ id: 'Inventory', description: 'How many animals there are in each status.' });

export const GetInventoryQuery = z.strictObject({
  categoryId: int64Parameter('Count only animals of this category.').optional(),
});

export type Inventory = z.infer<typeof Inventory>;
export type GetInventoryQuery = z.infer<typeof GetInventoryQuery>;

export function inventoryJson({ available, pending, sold }: Inventory): string {
  return `{"available":${available},"pending":${pending},"sold":${sold}}`;
}

/** How many animals there are in all. */
export function total({ available, pending, sold }: Inventory): number {
  return available + pending + sold;
}
