/** The addresses of Redis, at least one. Several addresses are nodes of a cluster. */
export type RedisUrls = readonly [string, ...string[]];

/**
 * Splits "redis://USER:PASSWORD@HOST:PORT,HOST:PORT" into a URL for each host, with the same credentials. Throws if it is
 * not an address of Redis.
 */
export function redisUrlsOf(text: string): RedisUrls {
  const [, scheme = '', credentials = '', hosts = '', rest = ''] =
    /^(rediss?:\/\/)(.*@)?([^@/?#]+)([/?#].*)?$/.exec(text) ?? [];
  const [first = '', ...others] = hosts.split(',').map((host) => `${scheme}${credentials}${host}${rest}`);
  const urls: RedisUrls = [first, ...others];
  if (!urls.every((url) => URL.parse(url)?.host)) throw new Error('not an address of Redis');
  return urls;
}
