/** Where the URL of a webhook leads. A client's text is checked once it is given, and again for every request sent. */
import { isIP } from 'node:net';
import { dns } from 'bun';
import type { Network } from '../domain/address.ts';
import { parseEndpoint } from '../domain/endpoint.ts';
import { isAllowed, reasonAgainst } from './addresses.ts';

/** Resolves a host name to all of its addresses; rejects, or returns none, if it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface Routes {
  readonly resolve: Resolve;
  /** Networks of WEBHOOK_ALLOWED_NETWORKS: not public, but allowed, also over http. */
  readonly allowed: readonly Network[];
}

/**
 * The system's resolver, with the addresses of its hosts file. c-ares waits without a thread: getaddrinfo occupies one of
 * a few, and name servers that never answer would delay the names of all other endpoints, and the files of the process.
 */
export const systemResolve: Resolve = async (hostname) => {
  const found = await dns.lookup(hostname, process.platform === 'win32' ? {} : { backend: 'c-ares' });
  // Many machines have IPv6 addresses and no way to the rest of IPv6.
  return found.sort((a, b) => a.family - b.family).map(({ address }) => address);
};

/** A host name that leads to an address that is not public. */
export interface Inward {
  readonly host: string;
  readonly address: string;
  readonly reason: string;
}

/**
 * What is wrong with the URL of a webhook, as a text that follows its name ("must be …"); undefined if nothing is.
 * `noticed` gets the address that the text does not name.
 */
export async function mistakeInEndpoint(
  text: string,
  routes: Routes,
  noticed?: (inward: Inward) => void,
): Promise<string | undefined> {
  const url = parseEndpoint(text);
  if (typeof url === 'string') return url;
  const located = await locate(url, routes);
  if ('addresses' in located) return undefined;
  if (located.inward !== undefined) noticed?.(located.inward);
  return located.message;
}

type Located =
  | { readonly addresses: readonly string[] }
  /** The message follows the name of the URL ("must …"). It is for clients, and names no address of an internal name. */
  | { readonly error: 'dns' | 'blocked'; readonly message: string; readonly inward?: Inward };

/** Resolves the host, and returns its addresses only if every one of them may be connected to. */
export async function locate(url: URL, { resolve, allowed }: Routes): Promise<Located> {
  const host = hostOf(url);
  let addresses: readonly string[] = [host];
  if (isIP(host) === 0) {
    try {
      addresses = await resolve(host);
      if (addresses.length === 0) throw new Error('no address');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { error: 'dns', message: `must have a host that can be resolved (${host}: ${code ?? message})` };
    }
  }
  for (const address of addresses) {
    const reason = reasonAgainst(address, allowed);
    if (reason === undefined) continue;
    const rule = 'must lead to public addresses only';
    if (address === host) return { error: 'blocked', message: `${rule}: ${host} (${reason})` };
    const message = `${rule}: ${host} resolves to one that is ${reason}`;
    return { error: 'blocked', message, inward: { host, address, reason } };
  }
  if (url.protocol === 'http:' && !addresses.every((address) => isAllowed(address, allowed))) {
    return { error: 'blocked', message: 'must be an https URL' };
  }
  return { addresses };
}

/** The host as resolvers and certificates have it: without the brackets of IPv6 and the dot of the root. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}
