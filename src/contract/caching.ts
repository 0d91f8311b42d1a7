/**
 * `Cache-Control` of the responses under the version (RFC 9111 section 5.2.2). They belong to one account's key: none
 * is for a shared cache. A success may be kept by its client, which has to ask again before it uses it; an error
 * may not be kept at all, for it says what is so now: a limit, a key, an animal that is not there yet.
 * So may a stream, which has no end.
 */
export const cacheControl = { success: 'private, no-cache', error: 'no-store', stream: 'no-store' } as const;

/** A strong entity tag (RFC 9110, section 8.8.3) of a body. It tells versions of one resource apart; it need not resist forgery. */
export function etagOf(body: string): string {
  return `"${Bun.hash.xxHash64(body).toString(36)}"`;
}
