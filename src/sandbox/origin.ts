/** Access control of a sandbox: programs may control it, web pages may not. */
import { isIP } from 'node:net';
import { Refusal } from '../contract/refusal.ts';

/** Host names that no web page has: those of this machine, and names without a dot, such as containers'. */
const ownNames = /^(?:[\w-]+|(?:[\w-]+\.)*localhost|host\.docker\.internal)$/;

/**
 * Refuses `host_unknown` for a name that another site could resolve to this machine (DNS rebinding), and
 * `cross_site_request` for requests that a browser sends for a page. Addresses are accepted, because they are not
 * resolved.
 */
export function checkOrigin({ headers }: Request): void {
  const name = (headers.get('host') ?? '').toLowerCase().replace(/:\d{1,5}$/, '');
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  if (!isAddress && !ownNames.test(name)) {
    const message =
      'A sandbox is steered by its address, by localhost, or by a name without a dot. Send one of them as Host.';
    throw new Refusal('host_unknown', { message });
  }
  const site = headers.get('sec-fetch-site') ?? 'none';
  if (headers.has('origin') || (site !== 'none' && site !== 'same-origin')) {
    const message = 'No page may steer a sandbox. Do it with curl, or in the code of the test.';
    throw new Refusal('cross_site_request', { message });
  }
}
