/** Host names that the admin listener accepts, and the origins that may send requests to it. */
import { isIP } from 'node:net';
import { ApiError } from '../../contract/api-error.ts';
import { hasMultipleHosts, multipleHostsError } from '../pipeline/request-head.ts';

/** Host names and IP addresses of the local machine. Clients that connect through a tunnel use them as well. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export class Site {
  readonly #origin: string | undefined;
  readonly #hostOfOrigin: string | undefined;

  /** `origin` is the https origin of the proxy in front of the console; undefined without a proxy. */
  constructor(origin: string | undefined) {
    this.#origin = origin;
    this.#hostOfOrigin = origin === undefined ? undefined : new URL(origin).host;
  }

  /**
   * Throws `invalid_parameter` for multiple Host headers, and `host_unknown` for a host name that the listener does not
   * accept. Otherwise, a foreign page whose host name resolves to this address (DNS rebinding) would count as
   * same-origin. IP addresses are accepted, because they do not involve DNS.
   */
  checkHost(request: Request): void {
    if (hasMultipleHosts(request)) throw multipleHostsError();
    const host = hostHeader(request);
    const name = hostName(host);
    if (host !== this.#hostOfOrigin && !loopback.test(name) && !isAddress(name))
      throw new ApiError('host_unknown');
  }

  /**
   * Throws `cross_site_request`. With `isProofNeeded`, a request without an origin is also refused, because it has
   * credentials that browsers add automatically.
   */
  checkOrigin(request: Request, isProofNeeded: boolean): void {
    const origin = request.headers.get('origin');
    const site = request.headers.get('sec-fetch-site');
    const isForeign =
      (origin !== null && !this.#isOwn(origin, request)) || (site ?? 'same-origin') !== 'same-origin';
    const isUnknown = origin === null && site === null;
    if (isForeign || (isUnknown && isProofNeeded)) throw new ApiError('cross_site_request');
  }

  /**
   * Whether cookies are `Secure`, which requires an https origin. Browsers also accept `Secure` cookies on loopback,
   * for example through a tunnel.
   */
  get isSecure(): boolean {
    return this.#origin !== undefined;
  }

  #isOwn(origin: string, request: Request): boolean {
    if (origin === this.#origin) return true;
    const host = hostHeader(request);
    return loopback.test(hostName(host)) && origin === `http://${host}`;
  }
}

function hostHeader({ headers }: Request): string {
  return (headers.get('host') ?? '').toLowerCase();
}

function hostName(host: string): string {
  const colon = host.lastIndexOf(':');
  return /^:\d{1,5}$/.test(host.slice(colon)) ? host.slice(0, colon) : host;
}

function isAddress(name: string): boolean {
  return isIP(name) === 4 || (name.startsWith('[') && name.endsWith(']') && isIP(name.slice(1, -1)) === 6);
}
