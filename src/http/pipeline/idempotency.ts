import { createHash } from 'node:crypto';
import type { Operation } from '../../contract/operation.ts';
import { isRepeatable } from '../../contract/operations.ts';
import type { ValidationResult } from '../../contract/validation.ts';
import { requestPath } from './query.ts';

/** A value that starts with a quotation mark must be a quoted string. */
const bare = /^[\x21\x23-\x7e][\x21-\x7e]{0,254}$/;
const quoted = /^"(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])+"$/;

const maxKeyLength = 255;
/** Length of a quoted key in which every character is escaped. */
const maxQuotedLength = 2 * maxKeyLength + 2;

/**
 * The `Idempotency-Key` of a request whose operation supports it (IETF draft "The Idempotency-Key HTTP Header Field"):
 * 1 to 255 visible ASCII characters, quoted or not; undefined if the request has no key.
 */
export function readIdempotencyKey(
  operation: Operation,
  headers: Headers,
): ValidationResult<string | undefined> {
  const text = isRepeatable(operation) ? headers.get('idempotency-key') : null;
  if (text === null) return { value: undefined };
  if (bare.test(text)) return { value: text };
  const isQuoted = text.length <= maxQuotedLength && quoted.test(text);
  const key = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, '$1') : '';
  if (key.length >= 1 && key.length <= maxKeyLength) return { value: key };
  const message = `must be 1 to ${maxKeyLength} visible ASCII characters, quoted or not, sent once`;
  return { mistakes: [{ in: 'header', name: 'Idempotency-Key', message }] };
}

export function requestDigest(method: string, url: string, bytes: Uint8Array): string {
  return createHash('sha256')
    .update(`${method} ${requestPath(url)}\n`)
    .update(bytes)
    .digest('hex');
}
