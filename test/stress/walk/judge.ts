import { hasEntityTag as isTaggedRow, operations } from '../../../src/contract/operations.ts';
import type { Checkable } from '../../support/contract.ts';
import { isRead, type Request } from './request.ts';
import type { Tags } from './tags.ts';
import type { Outcome } from './world.ts';

/** Headers that describe the resource or the error. These headers must be absent unless expected. */
const meaningful = [
  'location',
  'idempotent-replayed',
  'www-authenticate',
  'accept-patch',
  'retry-after',
  'allow',
  'deprecation',
  'sunset',
] as const;

/** Describes how a response differs from the model's expectation. Undefined if there is no difference. */
export function mistakeOf(
  request: Request,
  expected: Outcome,
  answer: Checkable,
  tags: Tags,
): string | undefined {
  const { status, headers } = answer;
  if (status !== expected.status) return `the status is ${status}, not ${expected.status}: ${answer.text}`;
  for (const name of meaningful) {
    const [value, due] = [headers.get(name), headerOf(name, request, expected)];
    if (value !== due) return `${name} is ${value}, not ${due}`;
  }
  const hasNext = / rel="next"/.test(headers.get('link') ?? '');
  const hasBody = request.method !== 'HEAD' && status !== 304 && status !== 204;
  if (!hasBody && answer.text !== '') return `there is a body: ${answer.text}`;
  const inBody = hasBody ? mistakeInBody(expected, answer.text, hasNext) : undefined;
  return inBody ?? mistakeInTag(request, expected, answer, tags) ?? mistakeInLinks(request, expected, answer);
}

function headerOf(name: (typeof meaningful)[number], request: Request, expected: Outcome): string | null {
  switch (name) {
    case 'location':
      return expected.location ?? null;
    case 'idempotent-replayed':
      return expected.isReplayed ? 'true' : null;
    case 'deprecation':
      return isDeprecated(request, expected) ? `@${Date.UTC(2026, 10, 21) / 1_000}` : null;
    case 'sunset':
      return isDeprecated(request, expected) ? 'Thu, 05 Dec 2030 00:00:00 GMT' : null;
    default:
      return expected.error?.headers?.[name] ?? null;
  }
}

/** True if the request reached the deprecated operation. */
function isDeprecated({ operationId }: Request, { error }: Outcome): boolean {
  return operationId === 'getPet' && !/^route_not_found$|^method_not_allowed$/.test(error?.code ?? '');
}

function mistakeInBody(
  { error, text, matches }: Outcome,
  body: string,
  hasNext: boolean,
): string | undefined {
  if (error === undefined) {
    if (text !== undefined) return body === text ? undefined : `the body is ${body}, not ${text}`;
    return matches?.(body, hasNext);
  }
  const {
    code,
    message,
    details = [],
  } = JSON.parse(body) as {
    readonly code: string;
    readonly message: string;
    readonly details?: readonly { readonly in: string; readonly name: string }[];
  };
  if (code !== error.code) return `the code is ${code}, not ${error.code}: ${body}`;
  const missing = error.mentions?.find((word) => !message.includes(word));
  if (missing !== undefined) return `the message does not contain "${missing}": ${message}`;
  const blamed = details.map((detail) => `${detail.in}:${detail.name}`).join();
  const due = error.blames?.join() ?? '';
  return blamed === due ? undefined : `it blames ${blamed || 'nothing'}, not ${due || 'nothing'}`;
}

/** Every representation of a resource has an entity tag; errors and counts have none. */
function mistakeInTag(
  { method, operationId }: Request,
  { text, error }: Outcome,
  { headers, status, text: body }: Checkable,
  tags: Tags,
): string | undefined {
  const tag = headers.get('etag');
  const isTagged = error === undefined && status !== 204 && isTaggedRow(operations[operationId]);
  if (!isTagged) return tag === null ? undefined : `there is an entity tag: ${tag}`;
  if (tag === null) return 'there is no entity tag';
  const shown = method === 'HEAD' || status === 304 ? text : body;
  const known = shown === undefined ? undefined : tags.of(shown);
  return known === undefined || known === tag ? undefined : `the entity tag is ${tag}, not ${known}`;
}

function mistakeInLinks(request: Request, expected: Outcome, { headers }: Checkable): string | undefined {
  const { page, status } = expected;
  const link = headers.get('link') ?? '';
  const links = new Map(
    [...link.matchAll(/<([^>]*)>; rel="([^"]+)"/g)].map(([, target, rel]) => [rel, target ?? '']),
  );
  if (isDeprecated(request, expected) && links.get('successor-version') !== '/v1/pets')
    return `there is no successor-version link in ${link}`;
  if (status >= 400)
    return links.get('help')?.startsWith('/docs/') ? undefined : `there is no help link in ${link}`;
  if (expected.isLink !== undefined) return expected.isLink(link) ? undefined : `the link is ${link}`;
  if (page === undefined)
    return links.has('next') || links.has('first') ? `there are links: ${link}` : undefined;
  const [path = ''] = request.target.split('?');
  const first = links.get('first');
  if (!isLinked(first, `/v1${path}`, page.query, false))
    return `the first page is not ${page.query}: ${link}`;
  const next = links.get('next');
  if (page.hasNext !== undefined && page.hasNext !== (next !== undefined))
    return `there is ${next === undefined ? 'no' : 'a'} next page: ${link}`;
  if (next !== undefined && !isLinked(next, `/v1${path}`, page.query, true))
    return `the next page is not ${page.query} and a cursor: ${link}`;
  return undefined;
}

/** True if a link has this path, these parameters in any order, and, if expected, a cursor. */
function isLinked(link: string | undefined, path: string, query: string, hasCursor: boolean): boolean {
  const [linked, parameters = ''] = (link ?? '').split('?');
  const found = new URLSearchParams(parameters);
  const cursor = found.get('cursor');
  found.delete('cursor');
  found.sort();
  const due = new URLSearchParams(query);
  due.sort();
  return linked === path && found.toString() === due.toString() && (cursor !== null) === hasCursor;
}

/** The text and the entity tag of a successful response. */
export function seenIn(request: Request, { status, headers, text }: Checkable): [string, string] | undefined {
  const tag = headers.get('etag');
  const shows = status === 200 || status === 201;
  return shows && tag !== null && !(isRead(request) && request.method === 'HEAD') ? [text, tag] : undefined;
}
