import type { Database } from 'bun:sqlite';
import { petStatuses } from '../../../domain/pet-status.ts';
import type { DeferredChanges } from './changes.ts';

/**
 * Returns a function that updates the counts in the transaction that changes the animals, using one statement per
 * category and one for the totals.
 */
export function inventoryWrites(database: Database): (changes: DeferredChanges) => void {
  const count = database.query<never, [number, number, number]>(
    'UPDATE inventory SET available = available + ?, pending = pending + ?, sold = sold + ? WHERE id = 1',
  );
  const countCategory = database.query<never, [bigint, number, number, number]>(
    `INSERT INTO inventory_by_category (category_id, available, pending, sold) VALUES (?, ?, ?, ?)
     ON CONFLICT (category_id) DO UPDATE SET
       available = available + excluded.available,
       pending = pending + excluded.pending,
       sold = sold + excluded.sold`,
  );
  const dropEmpty = database.query<never, [bigint]>(
    `DELETE FROM inventory_by_category
     WHERE category_id = ? AND available = 0 AND pending = 0 AND sold = 0`,
  );
  return (changes) => {
    const total = { available: 0, pending: 0, sold: 0 };
    for (const [categoryId, { available, pending, sold }] of changes.categories()) {
      countCategory.run(categoryId, available, pending, sold);
      if (available + pending + sold < 0) dropEmpty.run(categoryId);
      total.available += available;
      total.pending += pending;
      total.sold += sold;
    }
    if (petStatuses.some((status) => total[status] !== 0)) {
      count.run(total.available, total.pending, total.sold);
    }
  };
}
