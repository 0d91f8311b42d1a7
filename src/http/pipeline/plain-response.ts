import { cacheControl, computeEtag } from '../../contract/caching.ts';
import { filterText, type ListQuery } from '../../contract/cursor.ts';
import type { Operation, StreamSource } from '../../contract/operation.ts';
import { hasEntityTag } from '../../contract/operations.ts';
import type { OperationResult } from '../../operations/client-operations.ts';
import type { HeaderFields } from './response-headers.ts';

/** The response of an operation, without the headers that all responses have. */
export interface PlainResponse {
  readonly status: number;
  readonly body: string | Blob | null;
  readonly stream?: StreamSource;
  readonly etag?: string | undefined;
  readonly headers: HeaderFields;
}

interface SuccessContext {
  readonly base: string;
  readonly params?: Readonly<Record<string, bigint>> | undefined;
  readonly hasTag?: boolean;
}

/** The connection is closed after the stream, because the connection's idle timeout is disabled. */
const streamHeaders: HeaderFields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': cacheControl.stream,
  'X-Accel-Buffering': 'no',
  Connection: 'close',
};

export function successResponse(
  operation: Operation,
  query: unknown,
  { status, body, tagged, location, next, stream, isReplayed }: OperationResult,
  { base, params = {}, hasTag = hasEntityTag(operation) }: SuccessContext,
): PlainResponse {
  if (stream !== undefined) return { status, body: null, stream, headers: streamHeaders };
  const headers: HeaderFields = {};
  const text = tagged ?? (hasTag ? body : undefined);
  const etag = text === undefined ? undefined : computeEtag(text);
  if (etag !== undefined) headers.ETag = etag;
  if (location !== undefined) headers.Location = base + location;
  if (operation.paginated)
    headers.Link = pageLinks(base + fillPath(operation, params), query as PageQuery, next);
  if (operation.feed) {
    headers.Link = feedLink(base + operation.path, query as FeedQuery, next);
    headers['X-Events-Position'] = next ?? '';
  }
  if (isReplayed) headers['Idempotent-Replayed'] = 'true';
  return { status, body: body ?? null, etag, headers };
}

/**
 * The response to a client that already has this version of the resource: all headers, but no body (RFC 9110, section
 * 15.4.5).
 */
export function notModified({ etag, headers }: PlainResponse): PlainResponse {
  return { status: 304, body: null, etag, headers };
}

/**
 * The response to a client that is allowed to change the resource but not to read it. The response has no entity tag,
 * because the client could use it to guess the body.
 */
export function withoutBody({ headers: { ETag: _hidden, ...headers } }: PlainResponse): PlainResponse {
  return { status: 204, body: null, headers };
}

function fillPath({ path, params: row }: Operation, params: Readonly<Record<string, bigint>>): string {
  return row === undefined ? path : path.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
}

interface FeedQuery {
  readonly limit: number;
  readonly type?: readonly string[] | undefined;
  readonly wait?: number | undefined;
}

/** Link to the next page of events, which starts after the last event examined. */
function feedLink(url: string, { limit, type = [], wait }: FeedQuery, after = ''): string {
  // Duplicate types are removed, because proxies limit the size of response headers.
  const types = [...new Set(type)].map((selector) => `&type=${encodeQueryValue(selector)}`).join('');
  return `<${url}?limit=${limit}${types}${wait === undefined ? '' : `&wait=${wait}`}&after=${after}>; rel="next"`;
}

interface PageQuery extends ListQuery {
  readonly limit: number;
}

/** Characters that `encodeURIComponent` keeps, and commas. Almost all values consist of these. */
const unencoded = /^[\w.,~-]*$/;

function encodeQueryValue(value: string): string {
  return unencoded.test(value) ? value : encodeURIComponent(value).replaceAll('%2C', ',');
}

/** If a response head exceeds 4 kB, a proxy such as nginx considers the service failed and stops sending requests to it. */
const maxLinkBytes = 3_072;

/**
 * Links to the first and the next page (RFC 8288), with the same filters. If both are too long together, only the next
 * page is linked.
 */
function pageLinks(url: string, query: PageQuery, next: string | undefined): string {
  let first = `${url}?limit=${query.limit}`;
  for (const name in query) {
    const value = filterText(name, query[name]);
    if (value !== undefined) first += `&${name}=${encodeQueryValue(value)}`;
  }
  const links = `<${first}>; rel="first"`;
  if (next === undefined) return links;
  const nextLink = `<${first}&cursor=${next}>; rel="next"`;
  return nextLink.length + links.length < maxLinkBytes ? `${nextLink}, ${links}` : nextLink;
}
