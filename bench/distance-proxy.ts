/**
 * A proxy that delays the replies of PostgreSQL and Redis: `bun distance-proxy.ts <ms> <url>…`. Prints the URLs of the
 * proxy.
 */
import { tcpProxy } from '../test/support/tcp-proxy.ts';

const [, , delayMs, ...urls] = process.argv;
const proxies = await Promise.all(urls.map((url) => tcpProxy(url)));
for (const proxy of proxies) proxy.delay(Number(delayMs));
process.stdout.write(`${JSON.stringify(proxies.map(({ url }) => url))}\n`);
