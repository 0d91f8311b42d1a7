/** Where the admin listener may be reached, and which pages may call it. */
import { isIP } from 'node:net';
import { Refusal } from '../../contract/refusal.ts';
import { hasSeveralHosts, severalHosts } from '../pipeline/head.ts';

/** Its own machine, by the names that every machine gives itself: also the near end of a tunnel, on any port. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export class Site {
  readonly #origin: string | undefined;
  readonly #hostOfOrigin: string | undefined;

  /** `origin` is the https address that operators use behind a proxy; undefined when there is none. */
  constructor(origin: string | undefined) {
    this.#origin = origin;
    this.#hostOfOrigin = origin === undefined ? undefined : new URL(origin).host;
  }

  /**
   * Refuses `invalid_parameter` for several names, and `host_unknown` for a name that is not the listener's: a page elsewhere whose name is made to lead here (DNS
   * rebinding) would be of the same origin. An address is taken, for there no name was resolved.
   */
  checkHost(request: Request): void {
    if (hasSeveralHosts(request)) throw severalHosts();
    const host = hostOf(request);
    const name = nameOf(host);
    if (host !== this.#hostOfOrigin && !loopback.test(name) && !isAddress(name))
      throw new Refusal('host_unknown');
  }

  /** Refuses `cross_site_request`. A request without origin is refused if `isProofNeeded`: it has what a browser adds by itself. */
  checkOrigin(request: Request, isProofNeeded: boolean): void {
    const origin = request.headers.get('origin');
    const site = request.headers.get('sec-fetch-site');
    const isForeign =
      (origin !== null && !this.#isOwn(origin, request)) || (site ?? 'same-origin') !== 'same-origin';
    const isUnknown = origin === null && site === null;
    if (isForeign || (isUnknown && isProofNeeded)) throw new Refusal('cross_site_request');
  }

  /** Whether cookies are `Secure`: always with an https address. Through a tunnel, browsers accept them on loopback as well. */
  get isSecure(): boolean {
    return this.#origin !== undefined;
  }

  #isOwn(origin: string, request: Request): boolean {
    if (origin === this.#origin) return true;
    const host = hostOf(request);
    return loopback.test(nameOf(host)) && origin === `http://${host}`;
  }
}

function hostOf({ headers }: Request): string {
  return (headers.get('host') ?? '').toLowerCase();
}

function nameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '');
}

function isAddress(name: string): boolean {
  return isIP(name) === 4 || (name.startsWith('[') && name.endsWith(']') && isIP(name.slice(1, -1)) === 6);
}
