import { filtersText, type ListQuery, readCursor, writeCursor } from '../../contract/cursor.ts';
import type { Page } from '../../contract/operation.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { IdSpan } from '../../domain/changed-ids.ts';

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface PagedList<Item, Filter> {
  /** The list's path, which makes its cursors differ from those of other lists. */
  readonly path: string;
  /** Lowest id of the list; defaults to 1. */
  readonly minId?: bigint;
  /** Up to `limit` items after the id `after`, or from the first one if it is undefined. */
  readonly read: (after: bigint | undefined, limit: number, filter: Filter) => Awaitable<Item[]>;
}

/** A page of a list by ascending or descending id. Throws `invalid_cursor`. */
export function pageOf<Item extends { readonly id: bigint | number }, Query extends PageQuery & ListQuery>(
  query: Query,
  { path, minId = 1n, read }: PagedList<Item, Omit<Query, 'limit' | 'cursor'>>,
): Awaitable<Page<Item>> {
  const { limit, cursor, ...filter } = query;
  const filters = filtersText(path, query);
  const after = cursor === undefined ? undefined : readCursor(cursor, filters, minId).after;
  return andThen(read(after, limit + 1, filter), (found) => ({
    ...pageFrom(found, limit, ({ id }) => writeCursor({ filters, after: BigInt(id) })),
    span: spanOf(found, limit, after === undefined ? minId : after + 1n),
  }));
}

/** A page depends on the rows up to the first row of the next page; the last page depends on all later rows. */
function spanOf(found: readonly { readonly id: bigint | number }[], limit: number, from: bigint): IdSpan {
  const next = found[limit];
  return { from, to: next && BigInt(next.id) };
}

/** Builds a page. `found` has one item more than `limit` if there is a next page. */
export function pageFrom<Item>(
  found: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => string,
): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasNext = found.length > limit && last !== undefined;
  return { items, next: hasNext ? cursorOf(last) : undefined };
}
