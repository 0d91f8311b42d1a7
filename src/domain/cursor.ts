import type { ErrorDetail } from '../contract/errors.ts';
import type { PetStatus } from '../contract/pets.ts';
import { Refusal } from './refusal.ts';

/** Where a page of the list starts: after this id, within this filter. */
export interface Cursor {
  readonly after: bigint;
  readonly status: PetStatus | undefined;
}

/** Ids are int64; a store cannot even be asked for more. */
const largestId = 2n ** 63n - 1n;

const form = /^([a-z]*)\.([1-9]\d{0,18})$/;

/** The opaque text of a cursor (base64url of the filter and the id). */
export function writeCursor({ after, status }: Cursor): string {
  return Buffer.from(`${status ?? ''}.${after}`).toString('base64url');
}

/** Reads a cursor back. Throws `invalid_cursor` if this service never wrote it, or wrote it for other filters. */
export function readCursor(text: string, status: PetStatus | undefined): bigint {
  const cursor = parseCursor(text);
  if (cursor === undefined || cursor.status !== status) {
    throw new Refusal('invalid_cursor', { details: [cursorMistake] });
  }
  return cursor.after;
}

/** A cursor, whatever the filters it was made for; undefined when it has not the form of one. */
export function parseCursor(text: string): Cursor | undefined {
  const [, filter, after = '0'] = form.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (filter === undefined) return undefined;
  // The caller compares the filter with one that is known to be a status.
  const cursor = { after: BigInt(after), status: filter === '' ? undefined : (filter as PetStatus) };
  return cursor.after <= largestId && writeCursor(cursor) === text ? cursor : undefined;
}

export const cursorMistake: ErrorDetail = {
  in: 'query',
  name: 'cursor',
  message: 'is malformed or belongs to a different status filter; use the URL from the Link header unchanged',
};
