/** Validates a webhook URL string. `CheckEndpoint` also checks the addresses to which its host resolves. */

export const maxEndpointLength = 2_048;

/**
 * Returns what is wrong with the URL of an account's webhook, phrased as "must be …"; undefined if events may be sent to
 * the URL.
 */
export type CheckEndpoint = (url: string, accountId: number) => Promise<string | undefined>;

/** Returns the URL with a normalized host (WHATWG URL), or a description of what is wrong with it. */
export function parseEndpoint(text: string): URL | string {
  if (text.length > maxEndpointLength) return `must have at most ${maxEndpointLength} characters`;
  const url = URL.parse(text);
  // `URL.parse` strips whitespace and control characters, and replaces lone surrogates.
  const isPlain = text.isWellFormed() && !/[\s\p{Cc}]/u.test(text);
  if (url === null || !isPlain || url.port === '0' || !/^https?:$/.test(url.protocol)) {
    return 'must be an https URL such as https://example.com/webhooks';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.href.includes('#')) return 'must not contain a fragment (#)';
  return url;
}
