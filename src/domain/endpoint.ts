/** The URL that a webhook sends to, as far as its text shows. Where it leads is checked by `CheckEndpoint`. */

export const longestEndpoint = 2_048;

/** Returns the mistake of a URL as a text that follows its name ("must be …"); undefined if events may be sent there. */
export type CheckEndpoint = (url: string) => Promise<string | undefined>;

/** The URL, with the host in its one notation (WHATWG URL); for any other text, the mistake. */
export function parseEndpoint(text: string): URL | string {
  if (text.length > longestEndpoint) return `must have at most ${longestEndpoint} characters`;
  const url = URL.parse(text);
  // URL.parse strips white space and control characters, and replaces lone surrogates.
  const isPlain = text.isWellFormed() && !/[\s\p{Cc}]/u.test(text);
  if (url === null || !isPlain || url.port === '0' || !/^https?:$/.test(url.protocol)) {
    return 'must be an https URL such as https://example.com/webhooks';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.href.includes('#')) return 'must not contain a fragment (#)';
  return url;
}
