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

/** The text of a filter in a list's query; undefined if it is not set or not a filter. Numbers are times in Unix ms. */
export function filterText(name: string, value: unknown): string | undefined {
  if (value === undefined || name === 'limit' || name === 'cursor') return undefined;
  return typeof value === 'number' ? new Date(value).toISOString() : String(value);
}

/**
 * Encodes a list and its filters for a cursor. The status is in plain text; the other filters are hashed, because they
 * may contain a hundred ids. `list` is the path of the list. The path `/pets` is omitted, for compatibility with older
 * cursors.
 */
export function encodeFilters(list: string, query: ListQuery): string {
  let status = '';
  let rest = list === '/pets' ? '' : list;
  for (const name in query) {
    const value = filterText(name, query[name]);
    if (value === undefined) continue;
    if (name === 'status') status = value;
    else rest += `${rest && '&'}${name}=${value.replace(/[%&]/g, encodeURIComponent)}`;
  }
  const fingerprint = rest && `~${Bun.hash.xxHash64(rest).toString(36)}`;
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
