import * as z from 'zod';
import { count, int64Filter, shape } from './values.ts';

export const Inventory = shape('Inventory', 'The number of animals in each status.', {
  available: count,
  pending: count,
  sold: count,
});

export const GetInventoryQuery = z.strictObject({
  categoryId: int64Filter('Count only animals in this category.'),
});

export type Inventory = z.infer<typeof Inventory>;
export type GetInventoryQuery = z.infer<typeof GetInventoryQuery>;

export function inventoryJson({ available, pending, sold }: Inventory): string {
  return `{"available":${available},"pending":${pending},"sold":${sold}}`;
}

export function total({ available, pending, sold }: Inventory): number {
  return available + pending + sold;
}
