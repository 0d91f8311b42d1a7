/** Bulk actions. */
import { Failure } from './api.ts';
import { pluralize } from './format.ts';
import { toFailure } from './use-loaded.ts';

/**
 * Applies an action to each item in turn. If the action fails after other items have succeeded, throws a `Failure`
 * with the number of completed and remaining items. `noun` is the singular noun for an item.
 */
export async function forEach<Item>(
  items: readonly Item[],
  noun: string,
  change: (item: Item) => Promise<unknown>,
): Promise<void> {
  for (const [done, item] of items.entries()) {
    try {
      await change(item);
    } catch (error) {
      const { code, message } = toFailure(error);
      if (done === 0) throw error;
      const left = pluralize(items.length - done, noun);
      throw new Failure(code, `${pluralize(done, noun)} done, ${left} left: ${message}`);
    }
  }
}
