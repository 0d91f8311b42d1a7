/** Lists of animals, orders and categories: read page by page as the API reads them, and written as they are read. */
import type { Page } from '../contract/operation.ts';
import { pageLimit } from '../contract/values.ts';
import type { Awaitable } from '../domain/awaitable.ts';
import { filtersText, type ListQuery, writeCursor } from '../domain/cursor.ts';
import { printable } from '../domain/printable.ts';
import { isClosedPipe, say, Table, written } from './terminal.ts';

export interface ListOptions {
  /** How many at most. */
  readonly limit: number | 'all';
  /** The list goes on behind this id. */
  readonly after?: bigint;
  readonly json?: true;
}

interface PageQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** How a list is shown. */
export interface Listing<Item> {
  /** Its path in the API. */
  readonly path: string;
  /** What is said of a list without items. */
  readonly none: string;
  readonly header: readonly string[];
  readonly row: (item: Item) => readonly string[];
  readonly json: (item: Item) => string;
}

/** Prints the list that `read` reads: a table, or one line of JSON. A reader that has seen enough may close the pipe. */
export async function printList<Filters extends ListQuery, Item extends { readonly id: bigint | number }>(
  filters: Filters,
  options: ListOptions,
  listing: Listing<Item>,
  read: (query: Filters & PageQuery) => Awaitable<Page<Item>>,
): Promise<void> {
  const pages = pagesOf(listing.path, filters, options, read);
  try {
    if (options.json) await printJson(pages, listing);
    else await printTable(pages, listing);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

async function* pagesOf<Filters extends ListQuery, Item>(
  path: string,
  filters: Filters,
  { limit, after }: ListOptions,
  read: (query: Filters & PageQuery) => Awaitable<Page<Item>>,
): AsyncGenerator<Page<Item>> {
  let left = limit === 'all' ? Number.POSITIVE_INFINITY : limit;
  let cursor = after === undefined ? undefined : writeCursor({ filters: filtersText(path, filters), after });
  do {
    const page = await read({ ...filters, limit: Math.min(left, pageLimit.max), cursor });
    yield page;
    left -= page.items.length;
    cursor = page.next;
  } while (left > 0 && cursor !== undefined);
}

async function printJson<Item>(pages: AsyncIterable<Page<Item>>, { json }: Listing<Item>): Promise<void> {
  let before = '[';
  for await (const { items } of pages) {
    if (items.length === 0) continue;
    await written(`${before}${printable(items.map(json).join(','))}`);
    before = ',';
  }
  await written(before === '[' ? '[]\n' : ']\n');
}

async function printTable<Item extends { readonly id: bigint | number }>(
  pages: AsyncIterable<Page<Item>>,
  { none, header, row }: Listing<Item>,
): Promise<void> {
  const shown = new Table(header);
  let last: Item | undefined;
  let hasMore = false;
  for await (const { items, next } of pages) {
    if (items.length > 0) await written(`${shown.add(items.map(row))}\n`);
    last = items.at(-1) ?? last;
    hasMore = next !== undefined;
  }
  if (last === undefined) say(none);
  // Not on standard output, which has the list and nothing else.
  else if (hasMore) process.stderr.write(`There are more: add --after ${last.id}, or --limit all.\n`);
}
