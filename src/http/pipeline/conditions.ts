/** Conditional requests (RFC 9110, section 13). */
import type { ErrorDetail } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import type { ValidationResult } from '../../contract/validation.ts';
import type { Preconditions } from '../../operations/changes/preconditions.ts';
import { maxElements } from './header-lists.ts';

/**
 * A list of entity tags (RFC 9110, section 8.8.3). Tags may contain commas. Empty list elements are ignored (section
 * 5.6.1.2), because some programs produce them when they join lists.
 */
const tagList =
  /^(?:[\t ]*,)*[\t ]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?)*$/;
const tag = /"[^"]*"/g;
/** Suffixes that Apache, Caddy and Jetty add to the tag of a response that they compress. The service's tags have none. */
const codingSuffix = /(?:--?|;)(?:gzip|br|zstd|deflate)"$/;

const noPreconditions: ValidationResult<Preconditions> = { value: {} };

/**
 * The request's preconditions on the resource it changes; empty for operations that do not support preconditions. A
 * weak tag, or a tag with a suffix, matches the corresponding strong tag, because proxies change the tag of a response
 * that they compress.
 */
export function readPreconditions(
  { preconditions }: Operation,
  headers: Headers,
): ValidationResult<Preconditions> {
  if (preconditions === undefined) return noPreconditions;
  const match = headers.get('if-match')?.trim();
  const noneMatch = headers.get('if-none-match')?.trim();
  const mistakes: ErrorDetail[] = [];
  const addMistake = (name: string, message: string) => mistakes.push({ in: 'header', name, message });
  if (match !== undefined && match !== '*' && !tagList.test(match))
    addMistake('If-Match', 'must be "*" or a list of quoted entity tags, such as ETag contains');
  if (noneMatch !== undefined && noneMatch !== '*' && preconditions.includes('If-None-Match'))
    addMistake('If-None-Match', 'must be "*", which requires that the resource does not exist yet');
  if (mistakes.length > 0) return { mistakes };
  return {
    value: {
      ...(match !== undefined && { ifMatch: match === '*' ? match : parseTags(match) }),
      ...(noneMatch === '*' && { isNew: true }),
    },
  };
}

/**
 * Whether the client already has the version with this tag (`If-None-Match` on GET and HEAD; tags are compared weakly).
 */
export function isNotModified(headers: Headers, etag: string | undefined): boolean {
  const held = headers.get('if-none-match');
  if (held === null || etag === undefined) return false;
  if (held.trim() === '*') return true;
  // A long list without the tag is not parsed. A suffix comes before the closing quotation mark.
  if (!held.includes(etag.slice(0, -1))) return false;
  return parseTags(held).includes(etag);
}

/**
 * The first `maxElements` tags of a list. A later tag does not match, so that a read gets the whole response instead of
 * 304, and a change gets 412.
 */
function parseTags(list: string): string[] {
  const tags: string[] = [];
  for (const [one] of list.matchAll(tag)) {
    if (tags.length === maxElements) break;
    tags.push(one.replace(codingSuffix, '"'));
  }
  return tags;
}
