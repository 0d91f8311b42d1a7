import { ApiError } from './api-error.ts';
import { maxCursorLength } from './bounds.ts';
import type { ErrorDetail } from './errors.ts';

interface Cursor {
  readonly filters: string;
  readonly after: bigint;
  readonly name?: string | undefined;
}

export type ListQuery = Readonly<Record<string, unknown>>;

const int64Max = 2n ** 63n - 1n;

const form = /^([a-z]*(?:~[0-9a-z]+)?)\.(0|-?[1-9]\d{0,18})(?:\.(.*))?$/s;

/** Returns the names and values of a list's filters, in schema order. Filters that are numbers are times in Unix ms. */
export function collectFilters(query: ListQuery): [string, string][] {
  const filters: [string, string][] = [];
  // A loop, because this runs twice for each page.
  for (const name in query) {
    const value = query[name];
    if (value === undefined || name === 'limit' || name === 'cursor') continue;
    filters.push([name, typeof value === 'number' ? new Date(value).toISOString() : String(value)]);
  }
  return filters;
}

/**
 * Encodes a list and its filters for a cursor. The status is in plain text; the other filters are hashed, because they
 * may contain a hundred ids. `list` is the path of the list. The path `/pets` is omitted, for compatibility with older
 * cursors.
 */
export function encodeFilters(list: string, query: ListQuery): string {
  let status = '';
  const rest = list === '/pets' ? [] : [list];
  for (const [name, value] of collectFilters(query)) {
    if (name === 'status') status = value;
    else rest.push(`${name}=${value.replace(/[%&]/g, encodeURIComponent)}`);
  }
  const fingerprint = rest.length === 0 ? '' : `~${Bun.hash.xxHash64(rest.join('&')).toString(36)}`;
  return `${status}${fingerprint}`;
}

/** Encodes a cursor as opaque text: base64url of the filters, the id and the name. */
export function encodeCursor({ filters, after, name }: Cursor): string {
  return Buffer.from(`${filters}.${after}${name === undefined ? '' : `.${name}`}`).toString('base64url');
}

/**
 * Throws `invalid_cursor` if the cursor was not created by the service, was created for another list or with other
 * filters, or has an `after` below `minAfter`.
 */
export function decodeCursor(text: string, filters: string, minAfter: bigint, isByName = false): Cursor {
  const cursor = parseCursor(text);
  const isRight = cursor?.filters === filters && (cursor.name !== undefined) === isByName;
  if (!isRight || cursor.after < minAfter) throw new ApiError('invalid_cursor', { details: [cursorError] });
  return cursor;
}

/** Decodes a cursor without checking its filters. Returns undefined if it is malformed or too long. */
export function parseCursor(text: string): Cursor | undefined {
  if (text.length > maxCursorLength) return undefined;
  const [, filters, after = '0', name] = form.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  // PostgreSQL does not accept NUL in text.
  if (filters === undefined || name?.includes('\0')) return undefined;
  const cursor = { filters, after: BigInt(after), name };
  const isInt64 = cursor.after <= int64Max && cursor.after >= -int64Max - 1n;
  return isInt64 && encodeCursor(cursor) === text ? cursor : undefined;
}

export const cursorError: ErrorDetail = {
  in: 'query',
  name: 'cursor',
  message: 'is malformed or belongs to a different query; use the URL from the Link header unchanged',
};
