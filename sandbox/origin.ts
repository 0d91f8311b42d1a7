/** Access control of a sandbox: programs can control the sandbox, but web pages cannot. */
import { isIP } from 'node:net';
import { ApiError } from '../src/contract/api-error.ts';

/** Host names that no website can use: names of the local machine, and names without a dot, such as container names. */
const ownNames = /^(?:[\w-]+|(?:[\w-]+\.)*localhost|host\.docker\.internal)$/;

/**
 * Throws `host_unknown` for a name that a website could resolve to this machine (DNS rebinding), and
 * `cross_site_request` for requests that a browser sends on behalf of a page. IP addresses are safe, because they
 * involve no name resolution.
 */
export function checkOrigin({ headers }: Request): void {
  const name = (headers.get('host') ?? '').toLowerCase().replace(/:\d{1,5}$/, '');
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  if (!isAddress && !ownNames.test(name)) {
    const message = 'The Host header must contain an IP address, localhost, or a name without a dot.';
    throw new ApiError('host_unknown', { message });
  }
  const site = headers.get('sec-fetch-site') ?? 'none';
  if (headers.has('origin') || (site !== 'none' && site !== 'same-origin')) {
    const message = 'Web pages cannot control a sandbox. Use curl or your test code.';
    throw new ApiError('cross_site_request', { message });
  }
}
