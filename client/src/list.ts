import type { Answer } from './answer.js';
import { findLink, ServerError } from './errors.js';
import type { ApiRequest, CallOptions, Send } from './request.js';

/** Options for every list call. */
export interface ListQuery {
  /** Maximum number of items per page, 1 to 100. Defaults to 100. Iteration reads all pages. */
  readonly limit?: number | undefined;
  /** Position to continue from: `nextCursor` of a page with the same filters. */
  readonly cursor?: string | undefined;
}

/** A page of a list. */
export interface Page<Item> extends Answer<readonly Item[]> {
  /** Position of the next page; undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** A list that is fetched page by page during iteration. Each iteration fetches the list again. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #pages: () => AsyncGenerator<Page<Item>, void, undefined>;

  /** @internal */
  constructor(
    send: Send,
    collection: string,
    query: NonNullable<ApiRequest['query']>,
    options: CallOptions | undefined,
    below: Pick<ApiRequest, 'id' | 'step'> = {},
  ) {
    const first = { ...query, limit: query.limit ?? 100 };
    this.#pages = () => pagesOf(send, { ...below, method: 'GET', collection, isList: true, options }, first);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.#pages()) yield* data;
  }

  /** Iterates over the pages, which include the response headers. */
  pages(): AsyncIterable<Page<Item>> {
    return { [Symbol.asyncIterator]: this.#pages };
  }

  /** Reads all items into memory. */
  async toArray(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}

async function* pagesOf<Item>(
  send: Send,
  list: ApiRequest,
  first: NonNullable<ApiRequest['query']>,
): AsyncGenerator<Page<Item>, void, undefined> {
  // The service would reject an empty list of ids.
  if (Array.isArray(first.id) && first.id.length === 0) return;
  for (let query: ApiRequest['query'] | undefined = first; query !== undefined; ) {
    const answer: Answer<readonly Item[]> = await send({ ...list, query });
    const next = nextQuery(answer, 'cursor');
    yield { ...answer, nextCursor: next?.cursor };
    query = next;
  }
}

/**
 * Returns the query parameters of the link to the next page; undefined on the last page. Event pages always
 * have a next page. Ignores the host and path of the link, because the service may use a different address in
 * links, and the key must be sent only to the client's `url`. Throws a ServerError if the link lacks the position.
 */
export function nextQuery(
  { headers, status, requestId }: Answer<unknown>,
  position: 'cursor' | 'after',
): Readonly<Record<string, string>> | undefined {
  const link = findLink(headers, 'next');
  if (link === undefined && position === 'cursor') return undefined;
  const query = Object.fromEntries(new URLSearchParams(link?.replace(/^[^?]*/, '')));
  if (query[position]) return query;
  const message = `The response has no Link to the next page with the parameter ${position}.`;
  throw new ServerError({ code: 'unexpected_response', message, status, requestId, headers, attempts: 1 });
}
