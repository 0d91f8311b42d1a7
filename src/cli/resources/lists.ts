/** Reads lists page by page, and prints each page immediately. */

import { filtersText, type ListQuery, writeCursor } from '../../contract/cursor.ts';
import { parseJson } from '../../contract/json.ts';
import type { Operation, Page } from '../../contract/operation.ts';
import { pageLimit } from '../../contract/values.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { printable } from '../../domain/printable.ts';
import { isClosedPipe, printLine, Table, written } from '../terminal.ts';
import { tableOf } from './shapes.ts';

export interface ListOptions {
  /** Maximum number of items. */
  readonly limit: number | 'all';
  readonly after: bigint;
  readonly json: true | undefined;
  /** Text to print for an empty list. Defaults to the text in the shape. */
  readonly none: string;
  readonly firstTitle: string;
}

export interface Listing extends Pick<Operation, 'path' | 'success' | 'paginated'> {
  readonly read: (query: ListQuery) => Awaitable<unknown>;
  /** Formats an item as JSON. Defaults to the API's format. */
  readonly json?: (item: never) => string;
}

/** Prints a list as a table or as one line of JSON. Stops if the reader closes the pipe. */
export async function printList(
  listing: Listing,
  filters: ListQuery,
  options: Partial<ListOptions>,
): Promise<void> {
  const pages = pagesOf(listing, filters, options);
  try {
    if (options.json) await printJson(pages, listing);
    else await printTable(pages, listing, options);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

interface Part {
  readonly json: string;
  readonly hasMore: boolean;
}

async function* pagesOf(
  { path, success, paginated, read }: Listing,
  filters: ListQuery,
  { limit = 'all', after }: Partial<ListOptions>,
): AsyncGenerator<Part> {
  const jsonOf = (outcome: unknown) => success.json?.(outcome as never).slice(1, -1) ?? '';
  if (!paginated) return yield { json: jsonOf(await read(filters)), hasMore: false };
  let left = limit === 'all' ? Number.POSITIVE_INFINITY : limit;
  let cursor = after === undefined ? undefined : writeCursor({ filters: filtersText(path, filters), after });
  do {
    const page = (await read({ ...filters, limit: Math.min(left, pageLimit.max), cursor })) as Page<unknown>;
    yield { json: jsonOf(page), hasMore: page.next !== undefined };
    left -= page.items.length;
    cursor = page.next;
  } while (left > 0 && cursor !== undefined);
}

const itemsOf = (json: string) => parseJson(`[${json}]`) as { readonly id: bigint }[];

async function printJson(pages: AsyncIterable<Part>, { json: itemJson }: Listing): Promise<void> {
  let before = '[';
  for await (const { json } of pages) {
    if (json === '') continue;
    await written(
      `${before}${printable(
        itemJson === undefined
          ? json
          : itemsOf(json)
              .map((item) => itemJson(item as never))
              .join(','),
      )}`,
    );
    before = ',';
  }
  await written(before === '[' ? '[]\n' : ']\n');
}

async function printTable(
  pages: AsyncIterable<Part>,
  { success }: Listing,
  { none, firstTitle }: Partial<ListOptions>,
): Promise<void> {
  const { header, row, none: noneOfShape } = tableOf(success.schema);
  const [firstOfShape = '', ...titles] = header;
  const lines = new Table([firstTitle ?? firstOfShape, ...titles]);
  let last: { readonly id: bigint } | undefined;
  let moreFollow = false;
  for await (const { json, hasMore } of pages) {
    const items = itemsOf(json);
    if (items.length > 0) await written(`${lines.add(items.map(row))}\n`);
    last = items.at(-1) ?? last;
    moreFollow = hasMore;
  }
  if (last === undefined) printLine(none ?? noneOfShape);
  // Printed to standard error, because standard output contains only the list.
  else if (moreFollow) process.stderr.write(`More items follow: add --after ${last.id}, or --limit all.\n`);
}
