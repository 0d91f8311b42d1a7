import { decodeCursor, encodeCursor, encodeFilters, type ListQuery } from '../../contract/cursor.ts';
import type { JsonPage, Page } from '../../contract/operation.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { IdSpan } from '../../domain/changed-ids.ts';
import type { JsonRows } from '../../domain/json-rows.ts';

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface PagedList<Item, Filter> {
  /** The path of the list, which distinguishes its cursors from those of other lists. */
  readonly path: string;
  /** Lowest id in the list; defaults to 1. */
  readonly minId?: bigint;
  /** Reads up to `limit` items after the id `after`, or from the first item if `after` is undefined. */
  readonly read: (after: bigint | undefined, limit: number, filter: Filter) => Awaitable<Item[]>;
}

interface JsonList<Filter> extends Pick<PagedList<never, Filter>, 'path' | 'minId'> {
  readonly read: (after: bigint | undefined, limit: number, filter: Filter) => Awaitable<JsonRows>;
}

/** A page of a list sorted by ascending or descending id. Throws `invalid_cursor`. */
export function readPage<Item extends { readonly id: bigint | number }, Query extends PageQuery & ListQuery>(
  query: Query,
  { path, minId = 1n, read }: PagedList<Item, Omit<Query, 'limit' | 'cursor'>>,
): Awaitable<Page<Item>> {
  const { limit, cursor, ...filter } = query;
  const after =
    cursor === undefined ? undefined : decodeCursor(cursor, encodeFilters(path, query), minId).after;
  return andThen(read(after, limit + 1, filter), (found) => {
    const cursorOf = ({ id }: Item) =>
      encodeCursor({ filters: encodeFilters(path, query), after: BigInt(id) });
    const { items, next } = buildPage(found, limit, cursorOf);
    return { items, next, span: pageSpan(found, limit, after === undefined ? minId : after + 1n) };
  });
}

/**
 * The ids that a page depends on: up to and including the first row of the next page. The last page has no upper bound.
 */
function pageSpan(found: readonly { readonly id: bigint | number }[], limit: number, from: bigint): IdSpan {
  const next = found[limit];
  return { from, to: next && BigInt(next.id) };
}

/** Like `readPage`, for a list that the database formats as JSON. */
export function readJsonPage<Item, Query extends PageQuery & ListQuery>(
  query: Query,
  { path, minId = 1n, read }: JsonList<Omit<Query, 'limit' | 'cursor'>>,
): Awaitable<JsonPage<Item>> {
  const { limit, cursor, ...filter } = query;
  const filters = encodeFilters(path, query);
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filters, minId).after;
  return andThen(read(after, limit, filter), ({ json, last, next }) => ({
    json,
    next: next === undefined || last === undefined ? undefined : encodeCursor({ filters, after: last }),
    span: { from: after === undefined ? minId : after + 1n, to: next },
  }));
}

/** Builds a page. `found` contains one more item than `limit` if there is a next page. */
export function buildPage<Item>(
  found: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => string,
): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasNext = found.length > limit && last !== undefined;
  return { items, next: hasNext ? cursorOf(last) : undefined };
}
