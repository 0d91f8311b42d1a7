import type { Page } from '../contract/operation.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import { filtersText, type ListQuery, readCursor, writeCursor } from '../domain/cursor.ts';

interface PageQuery extends ListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * A page of a list by ascending id. `read` gives up to `limit` items with an id above `after`, from the lowest on when
 * that is undefined. No item has an id below `least`. Refuses `invalid_cursor`.
 */
export function pageOf<Item extends { readonly id: bigint }>(
  query: PageQuery,
  read: (after: bigint | undefined, limit: number) => Awaitable<Item[]>,
  least = 1n,
): Awaitable<Page<Item>> {
  const { limit, cursor } = query;
  const filters = filtersText(query);
  const after = cursor === undefined ? undefined : readCursor(cursor, filters, least);
  // One more than asked for tells whether there is a next page.
  return andThen(read(after, limit + 1), (found) => {
    const items = found.slice(0, limit);
    const last = items.at(-1);
    const hasNext = found.length > limit && last !== undefined;
    return { items, next: hasNext ? writeCursor({ filters, after: last.id }) : undefined };
  });
}
