/**
 * `Cache-Control` of responses under `/v1` (RFC 9111 section 5.2.2). Responses depend on the key, so shared caches
 * must not store them. Clients may store successful responses but must revalidate them. Errors and streams must not
 * be stored: an error describes a momentary state, and a stream has no end.
 */
export const cacheControl = { success: 'private, no-cache', error: 'no-store', stream: 'no-store' } as const;

/** 128 bits in base64url. */
const etagLength = 22;

/**
 * Returns a strong entity tag (RFC 9110, section 8.8.3) for a body. The hash is cryptographic, because clients choose the
 * names of animals: with another hash, they could find a name that changes an animal, but not the tag that others have.
 */
export function computeEtag(body: string): string {
  return `"${Bun.SHA256.hash(body, 'base64url').slice(0, etagLength)}"`;
}
