import type { ErrorDetail } from '../contract/errors.ts';
import { Refusal } from './refusal.ts';

/** Where a page of a list starts: after this id, within these filters. */
export interface Cursor {
  /** As `filtersText` writes them. */
  readonly filters: string;
  readonly after: bigint;
}

/** What a list is asked for, by name: its filters, and what is none. */
export type ListQuery = Readonly<Record<string, unknown>>;

const int64Max = 2n ** 63n - 1n;

const form = /^([a-z]*(?:~[0-9a-z]+)?)\.(0|-?[1-9]\d{0,18})$/;

/** The filters of a list by name, in the order of the query. */
export function filtersOf({ limit: _limit, cursor: _cursor, ...filters }: ListQuery): [string, string][] {
  return Object.entries(filters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
}

/** The filters as a cursor has them: the status as it is, all others as a fingerprint, for a hundred ids are long. */
export function filtersText(query: ListQuery): string {
  const { status, ...others } = Object.fromEntries(filtersOf(query));
  const rest = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  const fingerprint = rest.length === 0 ? '' : `~${Bun.hash.xxHash64(rest.join('&')).toString(36)}`;
  return `${status ?? ''}${fingerprint}`;
}

/** The opaque text of a cursor (base64url of the filters and the id). */
export function writeCursor({ filters, after }: Cursor): string {
  return Buffer.from(`${filters}.${after}`).toString('base64url');
}

/**
 * The id behind which a page starts, `least` or above. Throws `invalid_cursor` if this service never wrote it, or wrote it
 * for other filters.
 */
export function readCursor(text: string, filters: string, least: bigint): bigint {
  const cursor = parseCursor(text);
  if (cursor?.filters !== filters || cursor.after < least)
    throw new Refusal('invalid_cursor', { details: [cursorMistake] });
  return cursor.after;
}

/** A cursor, whatever the filters it was made for; undefined when it has not the form of one. */
export function parseCursor(text: string): Cursor | undefined {
  const [, filters, after = '0'] = form.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (filters === undefined) return undefined;
  const cursor = { filters, after: BigInt(after) };
  const isInt64 = cursor.after <= int64Max && cursor.after >= -int64Max - 1n;
  return isInt64 && writeCursor(cursor) === text ? cursor : undefined;
}

export const cursorMistake: ErrorDetail = {
  in: 'query',
  name: 'cursor',
  message: 'is malformed or belongs to other filters; use the URL from the Link header unchanged',
};
