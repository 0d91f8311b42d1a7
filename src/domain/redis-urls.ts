/** One URL for a single Redis server, or the URLs of several cluster nodes. */
export type RedisUrls = readonly [string, ...string[]];

/**
 * Splits "redis://USER:PASSWORD@HOST:PORT,HOST:PORT" into one URL per host, with the same credentials. Throws if the
 * text is not a Redis URL.
 */
export function parseRedisUrls(text: string): RedisUrls {
  const [, scheme = '', credentials = '', hosts = '', rest = ''] =
    /^(rediss?:\/\/)(.*@)?([^@/?#]+)([/?#].*)?$/.exec(text) ?? [];
  const [first = '', ...others] = hosts.split(',').map((host) => `${scheme}${credentials}${host}${rest}`);
  const urls: RedisUrls = [first, ...others];
  if (!urls.every((url) => URL.parse(url)?.host)) throw new Error('not an address of Redis');
  return urls;
}
