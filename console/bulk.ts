/** Applies one change to several objects, one after another. */
import { Failure } from './api.ts';
import { counted } from './format.ts';
import { asFailure } from './loaded.ts';

/** Applies an action to each item. Throws a `Failure` that reports the number of completed items; `noun` names them. */
export async function forEach<Item>(
  items: readonly Item[],
  noun: string,
  change: (item: Item) => Promise<unknown>,
): Promise<void> {
  for (const [done, item] of items.entries()) {
    try {
      await change(item);
    } catch (error) {
      const { code, message } = asFailure(error);
      if (done === 0) throw error;
      const left = counted(items.length - done, noun);
      throw new Failure(code, `${counted(done, noun)} done, ${left} left: ${message}`);
    }
  }
}
