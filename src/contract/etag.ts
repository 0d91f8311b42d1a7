/**
 * A strong entity tag (RFC 9110, section 8.8.3), derived from the bytes of the representation, so that nothing is stored
 * for it. It has to tell versions of one resource apart, not to resist forgery.
 */
export function etagOf(body: string): string {
  return `"${Bun.hash.xxHash64(body).toString(36)}"`;
}
